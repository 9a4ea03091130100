//! Attacks on read-only statements of `MariaDB`, by notation: what a statement calls must be found
//! whatever it is written like.
//!
//! The function `hit` writes a file, which a read-only transaction does not prevent.

use std::{fs, path::PathBuf};

use serde_json::json;
use vademecum_sql::{ErrorCode, ServerTarget, driver::Database, guard};

use super::{open_database, read, single_row};
use crate::support::{TestDatabase, require_env};

/// Database whose objects call `hit`.
struct Trap {
    fresh: TestDatabase,
    file: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let fresh = TestDatabase::mariadb();
        let folder = PathBuf::from(require_env("VADEMECUM_SERVERS"));
        let file = folder.join(format!("{}.hit", fresh.name()));
        let trap = Self { fresh, file };
        trap.execute(SETUP);
        trap
    }

    /// Executes statements in which `{db}` and `{file}` stand for the names of this trap.
    fn execute(&self, statements: &[&str]) {
        for statement in statements {
            let statement = statement.replace("{file}", self.file.to_str().unwrap());
            self.fresh.execute(&statement.replace("{db}", self.fresh.name()));
        }
    }

    fn open(&self) -> Database {
        open_database(self.fresh.target(), 1)
    }

    /// Opens the database as a user with only these privileges.
    fn open_as_reader(&self, grants: &[&str], allow_functions: &[&str]) -> Database {
        let user = self.reader();
        self.execute(&[&format!("CREATE USER {user} IDENTIFIED BY 'reader'")]);
        for grant in grants {
            self.execute(&[&format!("GRANT {grant} TO {user}")]);
        }
        let server = ServerTarget {
            user,
            password: Some("reader".to_owned().into()),
            allow_functions: allow_functions.iter().map(|&it| it.to_owned()).collect(),
            ..self.fresh.server()
        };
        open_database(self.fresh.target_with(server), 1)
    }

    fn reader(&self) -> String {
        self.fresh.name().replace("test_", "u").chars().take(30).collect()
    }

    /// Asserts that each statement is rejected with the name of the culprit, and does not run.
    async fn assert_rejected(&self, database: &Database, attacks: &[(&str, &str)]) {
        for (statement, culprit) in attacks {
            let statement = statement.replace("{db}", self.fresh.name());
            let error = match guard::check_query(database.engine(), &statement) {
                Ok(_) => read(database, &statement).await.expect_err(&statement),
                Err(error) => error,
            };
            assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}: {error:?}");
            assert!(error.message.contains(culprit), "{statement}: {error}");
            assert!(!self.file.exists(), "{statement}");
        }
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.execute(&["DROP DATABASE IF EXISTS Upper_{db}"]);
        self.execute(&[&format!("DROP USER IF EXISTS {}", self.reader())]);
        drop(fs::remove_file(&self.file));
    }
}

const SETUP: &[&str] = &[
    "CREATE TABLE words (w varchar(20)); INSERT INTO words VALUES ('a'), ('b')",
    "CREATE FUNCTION hit() RETURNS INT READS SQL DATA
        BEGIN SELECT 1 INTO OUTFILE '{file}'; RETURN 1; END",
    "CREATE FUNCTION `1hit`() RETURNS INT BEGIN DECLARE n INT; SET n = hit(); RETURN n; END",
    "CREATE FUNCTION `7e`() RETURNS INT BEGIN DECLARE n INT; SET n = hit(); RETURN n; END",
    "CREATE FUNCTION `count`(n INT) RETURNS INT BEGIN SET n = hit(); RETURN n; END",
    "CREATE FUNCTION `été`() RETURNS INT BEGIN DECLARE n INT; SET n = hit(); RETURN n; END",
    "CREATE FUNCTION by_return() RETURNS INT RETURN hit()",
    "CREATE VIEW Mixed_View AS SELECT hit() AS x",
    "CREATE VIEW `1view` AS SELECT hit() AS x",
    "CREATE VIEW `tick``view` AS SELECT hit() AS x",
    "CREATE VIEW second_view AS SELECT x FROM Mixed_View",
    "CREATE SQL SECURITY INVOKER VIEW third_view AS SELECT x FROM second_view",
    "CREATE FUNCTION by_query() RETURNS INT RETURN (SELECT x FROM Mixed_View)",
    "CREATE VIEW query_view AS SELECT by_query() AS x",
    "CREATE VIEW password_view AS SELECT * FROM mysql.global_priv",
    "CREATE VIEW lock_view AS SELECT GET_LOCK('a', 0) AS l",
    "CREATE VIEW file_view AS SELECT LOAD_FILE('/etc/passwd') AS l",
    "CREATE SEQUENCE steps",
    "CREATE VIEW step_view AS SELECT NEXT VALUE FOR steps AS n",
    "CREATE DATABASE Upper_{db}",
    "CREATE VIEW Upper_{db}.v AS SELECT {db}.hit() AS x",
    "CREATE FUNCTION Upper_{db}.f() RETURNS INT
        BEGIN DECLARE n INT; SET n = {db}.hit(); RETURN n; END",
    "CREATE VIEW Upper_{db}.own AS SELECT Upper_{db}.f() AS x",
];

#[tokio::test]
async fn mariadb_function_is_found_however_written() {
    let trap = Trap::new();
    let attacks = [
        ("SELECT hit()", "hit"),
        ("SELECT HIT ( )", "hit"),
        ("SELECT `hit`/**/()", "hit"),
        ("SELECT {db} . hit()", "hit"),
        ("SELECT {fn hit()}", "hit"),
        ("SELECT 1hit()", "1hit"),
        ("SELECT `1hit`()", "1hit"),
        ("SELECT 7e()", "7e"),
        ("SELECT count (1)", "count"),
        ("SELECT été()", "été"),
        ("SELECT by_return()", "hit"),
        ("SELECT by_query()", "hit"),
        ("SELECT Upper_{db}.f()", ".f`"),
        ("SELECT `Upper_{db}`.f()", ".f`"),
        ("SELECT no_schema.f()", "no_schema.f"),
        ("SELECT /*!50000 hit() */", "hit"),
        ("SELECT /*M!100000 hit() */", "/*M!"),
        ("SELECT /*!100000 hit() */", "/*!"),
        ("SELECT w FROM words ORDER BY hit()", "hit"),
        ("SELECT sum(1hit()) OVER () FROM words", "1hit"),
        ("SELECT w FROM words LIMIT 1hit()", "1hit"),
        ("VALUES (1hit())", "1hit"),
        ("EXPLAIN SELECT 1hit()", "1hit"),
        ("ANALYZE FORMAT=JSON SELECT 1hit()", "1hit"),
        ("SHOW TABLES WHERE 1hit() = 1", "1hit"),
        ("SHOW TABLES WHERE (SELECT x FROM Mixed_View) = 1", "hit"),
    ];
    trap.assert_rejected(&trap.open(), &attacks).await;
}

#[tokio::test]
async fn mariadb_view_is_found_however_written() {
    let trap = Trap::new();
    let attacks = [
        ("SELECT * FROM Mixed_View", "hit"),
        ("SELECT * FROM {db}.Mixed_View", "hit"),
        ("SELECT * FROM .Mixed_View", "hit"),
        ("SELECT * FROM 1view", "hit"),
        ("SELECT * FROM `tick``view`", "hit"),
        ("SELECT * FROM second_view", "hit"),
        ("SELECT * FROM third_view", "hit"),
        ("SELECT * FROM query_view", "hit"),
        ("SELECT * FROM Upper_{db}.v", "hit"),
        ("SELECT * FROM Upper_{db}.own", ".f`"),
        ("SELECT 1 FROM words, 1view", "hit"),
        ("SELECT 1 FROM words NATURAL JOIN Mixed_View", "hit"),
        ("SELECT * FROM {oj .Mixed_View LEFT JOIN words ON 1 = 1}", "hit"),
        ("WITH a AS (SELECT * FROM Mixed_View) SELECT * FROM a", "hit"),
        ("SELECT 1 /*!50000 FROM 1view */", "hit"),
        ("EXPLAIN SELECT * FROM 1view", "hit"),
        ("SELECT * FROM password_view", "global_priv"),
        ("SELECT * FROM lock_view", "get_lock"),
        ("SELECT * FROM file_view", "load_file"),
        ("SELECT * FROM step_view", "nextval"),
        ("SELECT NEXT VALUE FOR steps", "NEXT VALUE FOR"),
    ];
    let database = trap.open();
    trap.assert_rejected(&database, &attacks).await;
    for statement in ["DESCRIBE Mixed_View", "SHOW CREATE VIEW Mixed_View", "SELECT LASTVAL(steps)"]
    {
        let answer = read(&database, statement).await;
        assert!(answer.is_ok(), "{statement}: {answer:?}");
    }
}

#[tokio::test]
async fn mariadb_package_function_is_rejected() {
    let trap = Trap::new();
    trap.execute(&[
        "SET sql_mode = 'ORACLE'; CREATE PACKAGE pack AS FUNCTION g RETURN INT; END",
        "SET sql_mode = 'ORACLE'; CREATE PACKAGE BODY pack AS
            FUNCTION g RETURN INT AS BEGIN RETURN hit(); END;
         END",
        "CREATE VIEW pack_view AS SELECT {db}.pack.g() AS x",
    ]);
    let attacks = [
        ("SELECT {db}.pack.g()", "`pack.g`"),
        ("SELECT pack.g()", "`pack.g`"),
        ("SELECT * FROM pack_view", "`pack.g`"),
    ];
    trap.assert_rejected(&trap.open(), &attacks).await;
}

#[tokio::test]
async fn mariadb_reader_cannot_use_what_it_cannot_see() {
    let trap = Trap::new();
    trap.execute(&[
        "CREATE TABLE secrets (s varchar(20)); INSERT INTO secrets VALUES ('x')",
        "CREATE VIEW outer_view AS SELECT x FROM Mixed_View",
        "CREATE VIEW call_view AS SELECT `1hit`() AS x",
        "CREATE VIEW table_view AS SELECT s FROM secrets",
    ]);
    let grants = [
        "SELECT, SHOW VIEW ON {db}.outer_view",
        "SELECT, SHOW VIEW ON {db}.call_view",
        "SELECT, SHOW VIEW ON {db}.table_view",
        "SELECT ON {db}.second_view",
        "SELECT ON {db}.words",
    ];
    let database = trap.open_as_reader(&grants, &["table_view"]);
    let attacks = [
        ("SELECT * FROM outer_view", "Mixed_View"),
        ("SELECT * FROM call_view", "1hit"),
        ("SELECT * FROM second_view", "SHOW VIEW"),
        ("SELECT hit()", "hit"),
        ("SELECT sys_own('id')", "sys_own"),
    ];
    trap.assert_rejected(&database, &attacks).await;
    let row = single_row(
        &database,
        "WITH n (a, b) AS (SELECT COUNT(words.w), max(upper(w)) FROM words) SELECT n.a, COALESCE(b), \
         CAST(a AS DECIMAL(5, 1)), IF(a IN (1, 2), 'x', 'y'), LEFT(b, 1) FROM n",
    )
    .await;
    assert_eq!(row, [json!(2), json!("B"), json!("2.0"), json!("x"), json!("B")]);
    assert_eq!(single_row(&database, "SELECT s FROM table_view").await, [json!("x")]);
}

#[tokio::test]
async fn mariadb_password_tables_of_default_database_are_rejected() {
    let trap = Trap::new();
    let server = ServerTarget { database: "mysql".to_owned(), ..trap.fresh.server() };
    let database = open_database(trap.fresh.target_with(server), 1);
    let attacks = [
        ("SELECT * FROM user", "user"),
        ("SELECT * FROM global_priv", "global_priv"),
        ("SELECT 1 FROM func WHERE EXISTS (SELECT 1 FROM `servers`)", "servers"),
    ];
    trap.assert_rejected(&database, &attacks).await;
    assert!(read(&database, "SELECT name FROM func").await.is_ok());
}

#[tokio::test]
async fn mariadb_statements_of_others_are_hidden() {
    let trap = Trap::new();
    trap.execute(&[
        "CREATE VIEW running AS SELECT info FROM information_schema.processlist",
        "CREATE TABLE processlist (id int)",
        "CREATE TABLE threads (id int)",
    ]);
    let attacks = [("SELECT * FROM running", "processlist")];
    trap.assert_rejected(&trap.open(), &attacks).await;
    // Tables of users may have these names.
    for statement in ["SELECT id FROM processlist", "SELECT id FROM {db}.threads"] {
        let statement = statement.replace("{db}", trap.fresh.name());
        let answer = read(&trap.open(), &statement).await;
        assert!(answer.is_ok(), "{statement}: {answer:?}");
    }
    for (default, table) in [
        ("information_schema", "PROCESSLIST"),
        ("information_schema", "innodb_trx"),
        ("performance_schema", "threads"),
        ("performance_schema", "events_statements_current"),
        ("mysql", "general_log"),
        ("sys", "session"),
    ] {
        let server = ServerTarget { database: default.to_owned(), ..trap.fresh.server() };
        let database = open_database(trap.fresh.target_with(server), 1);
        let error = read(&database, &format!("SELECT * FROM {table}")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{default}.{table}: {error:?}");
        assert!(
            error.message.contains("statements of other accounts"),
            "{default}.{table}: {error}"
        );
    }
}
