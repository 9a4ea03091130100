//! Connections are kept, waited for, and made anew.

use std::{
    io,
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use vademecum_sql::{ErrorCode, QueryCaps, ServerTarget};

use super::{CAPS, CONNECT, File, endless, open, read, read_with};
use crate::program::Fresh;

#[tokio::test]
async fn connections_that_the_server_has_ended_are_replaced_unnoticed() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
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
        let database = open(fresh.target(), 4);
        let all = || futures_util::future::join_all((0..4).map(|_| read(&database, "SELECT 1")));
        assert!(all().await.iter().all(Result::is_ok));
        fresh.run(end);
        for answer in all().await {
            assert_eq!(answer.unwrap().rows.len(), 1);
        }
    }
}

#[tokio::test]
async fn whoever_waits_too_long_for_a_connection_hears_that_all_are_busy() {
    let caps = QueryCaps { timeout: Duration::from_millis(200), ..CAPS };
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    for database in [open(postgres.target(), 1), open(mariadb.target(), 1), file.open(1)] {
        let mut long = Box::pin(read(&database, endless(database.engine())));
        let error = tokio::select! {
            biased;
            answer = &mut long => panic!("{answer:?}"),
            // The long one is polled first, and so it has the connection.
            error = read_with(&database, "SELECT 1", caps) => error.unwrap_err(),
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
async fn a_database_that_cannot_be_reached_fails_fast_and_comes_back_by_itself() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    for fresh in [&postgres, &mariadb] {
        let there = fresh.server();
        let place = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = place.local_addr().unwrap().port();
        drop(place);
        let database = open(fresh.target_of(ServerTarget { port, ..there.clone() }), 2);
        let begun = Instant::now();
        let error = read(&database, "SELECT 1").await.unwrap_err();
        assert!(begun.elapsed() < CONNECT);
        assert_eq!(error.code, ErrorCode::XsqlDbConnectFailed);

        forward(TcpListener::bind(("127.0.0.1", port)).unwrap(), there.port);
        assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for_longer_than_a_connection_may_take() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    for fresh in [&postgres, &mariadb] {
        let target = fresh.target_of(ServerTarget { port, ..fresh.server() });
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
async fn a_tunnel_is_connected_to_instead_of_the_host() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    for fresh in [&postgres, &mariadb] {
        let there = fresh.server();
        let through = Some(([127, 0, 0, 1].into(), there.port));
        let server = ServerTarget {
            host: "db.invalid".to_owned(),
            port: 1,
            tunnel_address: through,
            ..there
        };
        let database = open(fresh.target_of(server), 1);
        assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
    }
}

/// Passes connections on to a port of this machine, for as long as the tests run.
fn forward(from: TcpListener, port: u16) {
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
