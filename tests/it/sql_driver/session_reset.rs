//! Tests that session state left by one statement is reset before the next one.

use futures_util::future::join_all;
use serde_json::json;
use vademecum_sql::{ServerTarget, driver::Database};

use super::{open_database, read, single_row};
use crate::support::TestDatabase;

/// SQL of functions that are declared read-only but change session state.
const POISON: &str = "
    CREATE FUNCTION poison() RETURNS text STABLE LANGUAGE sql AS
        $$ SELECT set_config('work_mem', '64kB', false) $$;
    CREATE FUNCTION keep() RETURNS text STABLE LANGUAGE sql AS
        $$ SELECT pg_advisory_lock(7)::text $$;";

/// Opens a database that allows the poisonous functions.
fn open_poisonable(fresh: &TestDatabase, connections: usize) -> Database {
    let allow_functions = vec!["poison".to_owned(), "keep".to_owned()];
    let server = ServerTarget { allow_functions, ..fresh.server() };
    open_database(fresh.target_with(server), connections)
}

#[tokio::test]
async fn postgres_settings_and_locks_reset_between_statements() {
    let fresh = TestDatabase::postgres();
    fresh.execute(POISON);
    let database = open_poisonable(&fresh, 1);
    let before = single_row(&database, "SELECT current_setting('work_mem')").await;
    assert_eq!(single_row(&database, "SELECT poison()").await, [json!("64kB")]);
    assert_eq!(single_row(&database, "SELECT keep()").await, [json!("")]);
    assert!(read(&database, "SELECT 1 / 0").await.is_err());
    let after = single_row(&database, "SELECT current_setting('work_mem')").await;
    assert_eq!(after, before);
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
         (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(fresh.query_value(locks), "0");
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND state LIKE 'idle in transaction%'";
    assert_eq!(fresh.query_value(open), "0");
}

/// Planning the queries of the check takes several times as long as running them.
#[tokio::test]
async fn postgres_plans_of_check_outlive_reset() {
    let fresh = TestDatabase::postgres();
    fresh.execute(&format!(
        "CREATE EXTENSION pg_stat_statements; CREATE TABLE item (id int);
         ALTER DATABASE {} SET pg_stat_statements.track_planning = on",
        fresh.name()
    ));
    let database = open_database(fresh.target(), 1);
    for _ in 0..20 {
        assert_eq!(single_row(&database, "SELECT count(*) FROM item").await, [json!(0)]);
    }
    for beginning in ["-- Follows what a statement calls", "-- Finds the functions that the server"]
    {
        let counts = format!(
            "SELECT (calls >= 20)::text || ' ' || (plans <= 5)::text FROM pg_stat_statements
             WHERE query LIKE '{beginning}%' AND dbid = (
                 SELECT oid FROM pg_database WHERE datname = current_database()
             )"
        );
        assert_eq!(fresh.query_value(&counts), "true true", "{beginning}");
    }
}

#[tokio::test]
async fn mariadb_settings_and_locks_reset_between_statements() {
    let fresh = TestDatabase::mariadb();
    let lock = fresh.name();
    fresh.execute(&format!(
        "CREATE FUNCTION poison() RETURNS INT BEGIN
            SET @left = 1; SET SESSION sort_buffer_size = 123456; RETURN GET_LOCK('{lock}', 0);
         END"
    ));
    let database = open_poisonable(&fresh, 1);
    let state = "SELECT @left, @@sort_buffer_size";
    let before = serialize_row(&single_row(&database, state).await);
    assert_eq!(single_row(&database, "SELECT poison()").await, [json!(1)]);
    assert!(read(&database, "SELECT nothing_like_it").await.is_err());
    assert_eq!(serialize_row(&single_row(&database, state).await), before);
    assert_eq!(fresh.query_value(&format!("SELECT IS_FREE_LOCK('{lock}')")), "1");
    let open = "SELECT count(*) FROM information_schema.innodb_trx AS trx \
         JOIN information_schema.processlist AS process ON process.id = trx.trx_mysql_thread_id \
         WHERE process.db = DATABASE()";
    assert_eq!(fresh.query_value(open), "0");
}

fn serialize_row(row: &[serde_json::Value]) -> String {
    serde_json::to_string(row).unwrap()
}

#[tokio::test]
async fn concurrent_reads_share_eight_clean_connections() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for (fresh, first, connection, left, clean) in [
        (
            &postgres,
            "SELECT random()",
            "pg_backend_pid()",
            "current_setting('work_mem')",
            json!("4MB"),
        ),
        (&mariadb, "SELECT GET_FORMAT(DATE, 'EUR')", "CONNECTION_ID()", "@left", json!(null)),
    ] {
        let database = open_database(fresh.target(), 8);
        let queries: Vec<String> = (0..100)
            .map(|number| match number % 4 {
                0 => first.to_owned(),
                1 => "SELECT nothing_like_it".to_owned(),
                _ => format!("SELECT {number}, {connection}, {left}"),
            })
            .collect();
        let answers = join_all(queries.iter().map(|query| read(&database, query))).await;
        let mut connections = std::collections::BTreeSet::new();
        for (number, answer) in answers.into_iter().enumerate() {
            match number % 4 {
                0 => assert!(answer.is_ok(), "{answer:?}"),
                1 => assert!(answer.unwrap_err().message.contains("nothing_like_it")),
                _ => {
                    let row = answer.unwrap().rows.remove(0);
                    assert_eq!((&row[0], &row[2]), (&json!(number), &clean));
                    connections.insert(row[1].to_string());
                }
            }
        }
        assert!((1..=8).contains(&connections.len()), "{connections:?}");
    }
}
