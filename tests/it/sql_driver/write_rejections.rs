//! Tests of writes that the guard cannot detect. The read-only transaction, the catalog check or
//! the `SQLite` authorizer rejects them.

use vademecum_sql::ErrorCode;

use super::{SqliteFile, open_database, read};
use crate::support::TestDatabase;

#[tokio::test]
async fn deleting_view_is_blocked() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    postgres.execute(
        "CREATE TABLE t AS SELECT 1 AS a;
         CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql AS
            $$ BEGIN DELETE FROM t; RETURN 1; END $$;
         CREATE VIEW v_evil AS SELECT evil();
         CREATE FUNCTION liar() RETURNS int STABLE LANGUAGE sql AS $$ SELECT evil() $$",
    );
    mariadb.execute("CREATE TABLE t AS SELECT 1 AS a");
    mariadb.execute("CREATE FUNCTION liar() RETURNS INT BEGIN DELETE FROM t; RETURN 1; END");
    mariadb.execute("CREATE VIEW v_evil AS SELECT liar()");
    for fresh in [&postgres, &mariadb] {
        let database = open_database(fresh.target(), 1);
        for query in ["SELECT * FROM v_evil", "SELECT liar()"] {
            let error = read(&database, query).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{query}: {error:?}");
            let reasons = ["`public.evil` is VOLATILE", "does more than to return"];
            assert!(reasons.iter().any(|it| error.message.contains(it)), "{error}");
        }
        assert_eq!(fresh.query_value("SELECT count(*) FROM t"), "1");
    }
}

#[tokio::test]
async fn volatile_functions_blocked_except_harmless_builtins() {
    let fresh = TestDatabase::postgres();
    fresh.execute(
        "CREATE TABLE t AS SELECT 1 AS a;
         CREATE SCHEMA other;
         CREATE FUNCTION other.evil() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION touch(t) RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION other.random() RETURNS int LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION calm() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1'",
    );
    let database = open_database(fresh.target(), 1);
    for (query, name) in [
        ("SELECT evil()", "public.evil"),
        ("SELECT * FROM t WHERE a = evil()", "public.evil"),
        ("SELECT other.evil()", "other.evil"),
        ("SELECT other.random()", "other.random"),
        ("SELECT t.touch FROM t", "public.touch"),
    ] {
        let error = read(&database, query).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{query}: {error:?}");
        let expected = format!(
            "the function `{name}` is VOLATILE, so it may change something; leave out what calls it"
        );
        assert!(error.message.starts_with(&expected), "{query}: {error}");
    }
    for query in [
        "SELECT random(), clock_timestamp(), gen_random_uuid()",
        "SELECT calm(), public.calm(), upper('a')",
        "SELECT pg_size_pretty(pg_database_size(current_database()))",
        "SELECT t.a FROM t",
    ] {
        assert!(read(&database, query).await.is_ok(), "{query}");
    }
}

#[tokio::test]
async fn sqlite_view_cannot_load_extension() {
    let file = SqliteFile::new(
        "CREATE TABLE t (a); INSERT INTO t VALUES (1);
         CREATE VIEW v_load AS SELECT load_extension('x.so');
         CREATE VIEW v_fts AS SELECT fts5(NULL);",
    );
    let database = file.open(1);
    for query in ["SELECT * FROM v_load", "SELECT * FROM v_fts"] {
        let error = read(&database, query).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{query}: {error:?}");
    }
    assert_eq!(file.query_integer("SELECT count(*) FROM t"), 1);
}
