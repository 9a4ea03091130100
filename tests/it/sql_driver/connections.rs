//! Tests of the connection pool: reuse, waiting, timeouts and reconnection.

use std::{
    io,
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use vademecum_sql::{ErrorCode, QueryCaps, ServerTarget};

use super::{CONNECT_TIMEOUT, DEFAULT_CAPS, endless_query, open_database, read, read_with_caps};
use crate::support::TestDatabase;

#[tokio::test]
async fn connections_closed_by_server_are_replaced() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    let end_mariadb = "BEGIN NOT ATOMIC
        FOR process IN (SELECT id FROM information_schema.processlist
                        WHERE db = DATABASE() AND id <> CONNECTION_ID())
        DO EXECUTE IMMEDIATE CONCAT('KILL ', process.id); END FOR; END";
    for (fresh, end) in [
        (
            &postgres,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        ),
        (&mariadb, end_mariadb),
    ] {
        let database = open_database(fresh.target(), 4);
        let all = || futures_util::future::join_all((0..4).map(|_| read(&database, "SELECT 1")));
        assert!(all().await.iter().all(Result::is_ok));
        fresh.execute(end);
        for answer in all().await {
            assert_eq!(answer.unwrap().rows.len(), 1);
        }
    }
}

#[tokio::test]
async fn exhausted_pool_reports_busy_connections() {
    let caps = QueryCaps { timeout: Duration::from_millis(200), ..DEFAULT_CAPS };
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for database in [open_database(postgres.target(), 1), open_database(mariadb.target(), 1)] {
        let mut long = Box::pin(read(&database, endless_query(database.engine())));
        let error = tokio::select! {
            biased;
            answer = &mut long => panic!("{answer:?}"),
            // The long query is polled first and therefore holds the only connection.
            error = read_with_caps(&database, "SELECT 1", caps) => error.unwrap_err(),
        };
        assert_eq!(error.code, ErrorCode::XsqlDbConnectFailed, "{database:?}");
        assert!(
            error.message.contains("connections of this profile are busy"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn unreachable_database_fails_fast_and_recovers() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for fresh in [&postgres, &mariadb] {
        let there = fresh.server();
        let place = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = place.local_addr().unwrap().port();
        drop(place);
        let database = open_database(fresh.target_with(ServerTarget { port, ..there.clone() }), 2);
        let begun = Instant::now();
        let error = read(&database, "SELECT 1").await.unwrap_err();
        assert!(begun.elapsed() < CONNECT_TIMEOUT);
        assert_eq!(error.code, ErrorCode::XsqlDbConnectFailed);

        forward_connections(TcpListener::bind(("127.0.0.1", port)).unwrap(), there.port);
        assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
    }
}

#[tokio::test]
async fn silent_server_exceeds_connect_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for fresh in [&postgres, &mariadb] {
        let target = fresh.target_with(ServerTarget { port, ..fresh.server() });
        let limit = Duration::from_millis(200);
        let database = vademecum_sql::driver::Database::open(target, 1, limit).unwrap();
        let begun = Instant::now();
        let error = read(&database, "SELECT 1").await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(error.code, ErrorCode::XsqlDbConnectFailed);
        assert_eq!(error.detail.unwrap(), "no connection within 200ms");
    }
}

#[tokio::test]
async fn connection_uses_tunnel_instead_of_host() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for fresh in [&postgres, &mariadb] {
        let there = fresh.server();
        let through = Some(([127, 0, 0, 1].into(), there.port));
        let server = ServerTarget {
            host: "db.invalid".to_owned(),
            port: 1,
            tunnel_address: through,
            ..there
        };
        let database = open_database(fresh.target_with(server), 1);
        assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
    }
}

/// Forwards connections to a local port until the process ends.
fn forward_connections(from: TcpListener, port: u16) {
    thread::spawn(move || {
        for near in from.incoming() {
            let near = near.unwrap();
            let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (mut from, mut to) in
                [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
            {
                thread::spawn(move || io::copy(&mut from, &mut to));
            }
        }
    });
}
