//! Connections are encrypted when they should be, with whom they should be.

use std::path::PathBuf;

use vademecum_sql::{Engine, ErrorCode, ServerTarget, TlsMode};

use super::{open, read, row};
use crate::program::{Fresh, said};

/// Whether the connection that asks is encrypted.
fn is_encrypted(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        Engine::MySql => "SHOW SESSION STATUS LIKE 'Ssl_version'",
        Engine::Sqlite => "",
    }
}

#[tokio::test]
async fn a_connection_is_encrypted_unless_it_is_to_be_plain() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    for fresh in [&postgres, &mariadb] {
        for (tls, expected) in [
            (TlsMode::Disable, false),
            (TlsMode::Prefer, true),
            (TlsMode::Require, true),
            (TlsMode::VerifyFull, true),
        ] {
            let authorities = Some(PathBuf::from(said("VADEMECUM_AUTHORITY")));
            let server = ServerTarget {
                tls,
                ca_file: authorities,
                host: "localhost".to_owned(),
                ..fresh.server()
            };
            let database = open(fresh.target_of(server), 1);
            let answer = row(&database, is_encrypted(database.engine())).await;
            let answer = answer.last().unwrap().as_str().unwrap();
            assert_eq!(!["", "false"].contains(&answer), expected, "{database:?} {tls:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_refused() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    let authority = Some(PathBuf::from(said("VADEMECUM_AUTHORITY")));
    for fresh in [&postgres, &mariadb] {
        // The certificate is for `localhost`, and no authority of the system vouches for it.
        for (host, authorities) in [("127.0.0.1", authority.clone()), ("localhost", None)] {
            let tls = TlsMode::VerifyFull;
            let host = host.to_owned();
            let server = ServerTarget { tls, host, ca_file: authorities, ..fresh.server() };
            let error = read(&open(fresh.target_of(server), 1), "SELECT 1").await.unwrap_err();
            let codes = [ErrorCode::XsqlDbConnectFailed, ErrorCode::XsqlCfgInvalid];
            assert!(codes.contains(&error.code), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_encrypt_is_asked_plainly_only_if_that_will_do() {
    let fresh = Fresh::pgvector();
    for (tls, is_enough) in [(TlsMode::Prefer, true), (TlsMode::Require, false)] {
        let database = open(fresh.target_of(ServerTarget { tls, ..fresh.server() }), 1);
        assert_eq!(read(&database, "SELECT 1").await.is_ok(), is_enough, "{tls:?}");
    }
}
