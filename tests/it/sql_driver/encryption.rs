//! Tests of the TLS modes of database connections.

use std::path::PathBuf;

use vademecum_sql::{Engine, ErrorCode, ServerTarget, TlsMode};

use super::{open_database, read, single_row};
use crate::support::{TestDatabase, require_env};

/// Returns a query for the TLS status of its own connection.
fn tls_status_query(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        Engine::MySql => "SHOW SESSION STATUS LIKE 'Ssl_version'",
        Engine::Sqlite => "",
    }
}

#[tokio::test]
async fn connection_is_encrypted_unless_disabled() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for fresh in [&postgres, &mariadb] {
        for (tls, expected) in [
            (TlsMode::Disable, false),
            (TlsMode::Prefer, true),
            (TlsMode::Require, true),
            (TlsMode::VerifyFull, true),
        ] {
            let authorities = Some(PathBuf::from(require_env("VADEMECUM_AUTHORITY")));
            let server = ServerTarget {
                tls,
                ca_file: authorities,
                host: "localhost".to_owned(),
                ..fresh.server()
            };
            let database = open_database(fresh.target_with(server), 1);
            let answer = single_row(&database, tls_status_query(database.engine())).await;
            let answer = answer.last().unwrap().as_str().unwrap();
            assert_eq!(!["", "false"].contains(&answer), expected, "{database:?} {tls:?}");
        }
    }
}

#[tokio::test]
async fn verify_full_rejects_untrusted_certificate() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    let authority = Some(PathBuf::from(require_env("VADEMECUM_AUTHORITY")));
    for fresh in [&postgres, &mariadb] {
        // The certificate is issued for `localhost`, by an authority that the system does not
        // trust.
        for (host, authorities) in [("127.0.0.1", authority.clone()), ("localhost", None)] {
            let tls = TlsMode::VerifyFull;
            let host = host.to_owned();
            let server = ServerTarget { tls, host, ca_file: authorities, ..fresh.server() };
            let error =
                read(&open_database(fresh.target_with(server), 1), "SELECT 1").await.unwrap_err();
            let codes = [ErrorCode::XsqlDbConnectFailed, ErrorCode::XsqlCfgInvalid];
            assert!(codes.contains(&error.code), "{error:?}");
        }
    }
}

#[tokio::test]
async fn plain_connection_requires_prefer_mode() {
    let fresh = TestDatabase::pgvector();
    for (tls, is_enough) in [(TlsMode::Prefer, true), (TlsMode::Require, false)] {
        let database = open_database(fresh.target_with(ServerTarget { tls, ..fresh.server() }), 1);
        assert_eq!(read(&database, "SELECT 1").await.is_ok(), is_enough, "{tls:?}");
    }
}
