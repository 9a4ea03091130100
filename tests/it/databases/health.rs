//! End-to-end tests of `database_health`: each problem is found, and a healthy database has none.

use secrecy::SecretString;
use serde_json::{Value, json};
use vademecum_sql::ServerTarget;

use super::{
    call_tool, execute_each, execute_on_file,
    held_session::{HeldSession, wait_for},
    profile_settings,
};
use crate::support::{HttpClient, Library, McpClient as _, TestDatabase};

const TOOL: &str = "database_health";

/// Problems in the tables of a `PostgreSQL` database.
const PROBLEMS_SQL: &str = "
    CREATE TABLE bloated (id integer PRIMARY KEY, note text) WITH (autovacuum_enabled = false);
    INSERT INTO bloated SELECT g, repeat('x', 100) FROM generate_series(1, 50000) AS g;
    DELETE FROM bloated WHERE id > 2000;
    CREATE TABLE parent (id integer PRIMARY KEY, a integer, b integer);
    INSERT INTO parent SELECT g, g, g FROM generate_series(1, 60000) AS g;
    CREATE TABLE child (id integer PRIMARY KEY, parent_id integer REFERENCES parent);
    INSERT INTO child SELECT g, g FROM generate_series(1, 2000) AS g;
    CREATE INDEX parent_a ON parent (a);
    CREATE INDEX parent_a_again ON parent (a);
    CREATE INDEX parent_b_a ON parent (b, a);
    CREATE INDEX broken ON parent (b, id);
    UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken'::regclass;
    CREATE SEQUENCE nearly_full AS smallint;
    SELECT setval('nearly_full', 32000);";

fn serve(library: &Library, database: &TestDatabase) -> crate::support::Server {
    library.serve_with_settings(&profile_settings("shop", &database.target()))
}

/// Returns the report of a check.
fn report<'a>(health: &'a Value, check: &str) -> &'a Value {
    let checks = health["checks"].as_array().unwrap();
    checks.iter().find(|it| it["check"] == check).unwrap_or_else(|| panic!("{check}: {health}"))
}

/// Returns the finding about an object.
fn finding<'a>(health: &'a Value, check: &str, object: &str) -> &'a Value {
    let findings = report(health, check)["findings"].as_array().unwrap();
    let found = findings.iter().find(|it| it["object"].as_str().unwrap().contains(object));
    found.unwrap_or_else(|| panic!("{check} {object}: {health}"))
}

fn check(client: &HttpClient<'_>, checks: &[&str]) -> Value {
    call_tool(client, TOOL, &json!({ "checks": checks, "long_transaction_seconds": 0 })).1
}

#[test]
fn health_finds_each_problem_of_tables() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(PROBLEMS_SQL);
    database.execute("ANALYZE");
    let server = serve(&library, &database);
    let client = server.client();
    let (text, health) = wait_for("the count of dead rows", || {
        let answer = call_tool(&client, TOOL, &json!({}));
        (report(&answer.1, "vacuum")["status"] != "ok").then_some(answer)
    });
    for (check, object, severity, expected, suggestion) in [
        ("bloat", "public.bloated", "notice", "is unused", "VACUUM (FULL"),
        ("vacuum", "public.bloated", "notice", "dead rows", "VACUUM (ANALYZE) public.bloated"),
        ("duplicate_indexes", "parent_a_again", "notice", "same as public.parent_a;", "DROP INDEX"),
        ("unused_indexes", "parent_b_a", "notice", "No query", "DROP INDEX CONCURRENTLY"),
        ("invalid_indexes", "broken", "warning", "is invalid", "(b, id)"),
        (
            "missing_indexes",
            "public.child",
            "notice",
            "has no index on (parent_id)",
            "ON public.child",
        ),
        ("sequences", "nearly_full", "critical", "97.7%", "ALTER SEQUENCE"),
    ] {
        let found = finding(&health, check, object);
        assert_eq!(found["severity"], severity, "{found}");
        assert!(found["sentence"].as_str().unwrap().contains(expected), "{found}");
        assert!(found["suggestion"].as_str().unwrap().contains(suggestion), "{found}");
        assert!(found["measure"].is_number() && found["unit"].is_string(), "{found}");
        assert!(text.contains(found["sentence"].as_str().unwrap()), "{text}");
    }
    assert_eq!(health["status"], "critical");
    assert_eq!(report(&health, "duplicate_indexes")["findings"].as_array().unwrap().len(), 1);
    // The server runs without fsync, so that tests are fast.
    assert_eq!(finding(&health, "settings", "fsync")["severity"], "critical");
}

#[test]
fn healthy_database_is_ok() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text);
         INSERT INTO t (note) SELECT g::text FROM generate_series(1, 5000) AS g; ANALYZE",
    );
    let server = serve(&library, &database);
    let (text, health) = call_tool(&server.client(), TOOL, &json!({}));
    let checks = health["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 15);
    let fitting = |it: &&Value| it["check"] != "settings" && it["check"] != "integrity";
    for report in checks.iter().filter(fitting) {
        assert_eq!(report["status"], "ok", "{report}");
        assert!(report["sentence"].as_str().unwrap().ends_with('.'), "{report}");
    }
    assert!(text.starts_with("Health of shop (PostgreSQL): "), "{text}");
    assert!(text.contains("\noverview: ok."), "{text}");
}

#[test]
fn health_finds_waits_and_long_transactions() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute("CREATE TABLE t (a integer)");
    let server = serve(&library, &database);
    let client = server.client();
    let checks = ["locks", "transactions"];
    assert_eq!(check(&client, &checks)["status"], "ok");
    let held = HeldSession::start(database.target(), "BEGIN; LOCK TABLE t");
    let health = wait_for("the open transaction", || {
        let health = check(&client, &checks);
        (health["status"] != "ok").then_some(health)
    });
    let found = finding(&health, "transactions", "process");
    assert!(found["sentence"].as_str().unwrap().contains("has been open for"), "{found}");
    let waiting = HeldSession::start(database.target(), "TABLE t");
    let health = wait_for("the lock wait", || {
        let health = check(&client, &checks);
        (report(&health, "locks")["status"] != "ok").then_some(health)
    });
    let found = finding(&health, "locks", "process");
    assert!(found["sentence"].as_str().unwrap().contains("for a lock on t held by process"));
    assert!(found["suggestion"].as_str().unwrap().contains("pg_cancel_backend("), "{found}");
    drop((held, waiting));
    let long = json!({ "checks": checks });
    wait_for("the end of both sessions", || {
        (call_tool(&client, TOOL, &long).1["status"] == "ok").then_some(())
    });
}

#[test]
fn role_without_rights_hears_of_hidden_objects() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    let role = database.name()[..30].to_owned();
    database.execute(&format!(
        "CREATE TABLE hidden (a integer); CREATE TABLE shown (a integer); CREATE SEQUENCE s;
         CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON shown TO {role}"
    ));
    let reader = ServerTarget {
        user: role.clone(),
        password: Some(SecretString::from("x")),
        ..database.server()
    };
    let settings = profile_settings("shop", &database.target_with(reader));
    let server = library.serve_with_settings(&settings);
    let held = HeldSession::start(database.target(), "BEGIN; SELECT 'secret'");
    let client = server.client();
    let health = wait_for("the other session", || {
        let health = check(&client, &[]);
        (report(&health, "transactions")["status"] != "ok").then_some(health)
    });
    for (check, expected) in [
        ("transactions", "it needs pg_monitor"),
        ("bloat", "1 tables that this role cannot read"),
        ("sequences", "1 sequences are not visible"),
    ] {
        let report = report(&health, check);
        assert_eq!(report["status"], "unknown", "{report}");
        assert!(report["not_visible"][0].as_str().unwrap().contains(expected), "{report}");
    }
    for check in health["checks"].as_array().unwrap() {
        let sentence = check["sentence"].as_str().unwrap();
        assert!(!sentence.contains("Could not be checked"), "{check}");
    }
    drop((held, server));
    database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn mariadb_health_finds_its_problems() {
    let (database, library) = (TestDatabase::mariadb(), Library::new());
    execute_each(
        &database,
        "CREATE TABLE full (id TINYINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, KEY spare (a), KEY kept (a, b));
INSERT INTO full (id, a) VALUES (125, 1);
CREATE TABLE keyless (a INT);
INSERT INTO keyless SELECT seq FROM seq_1_to_5000;
ANALYZE TABLE keyless",
    );
    let server = serve(&library, &database);
    let client = server.client();
    let held = HeldSession::start(database.target(), "BEGIN;\nUPDATE full SET b = 1");
    let (text, health) = wait_for("the open transaction", || {
        let arguments = json!({ "long_transaction_seconds": 0 });
        let answer = call_tool(&client, TOOL, &arguments);
        (report(&answer.1, "transactions")["status"] != "ok").then_some(answer)
    });
    for (check, object, severity) in [
        ("sequences", "`full`.`id`", "critical"),
        ("duplicate_indexes", "`full`.`spare`", "notice"),
        ("missing_indexes", "`keyless`", "notice"),
        ("transactions", "connection", "notice"),
        ("overview", "connections", "ok"),
    ] {
        assert_eq!(finding(&health, check, object)["severity"], severity, "{check}");
    }
    assert_eq!(report(&health, "wraparound")["status"], "not_applicable");
    assert_eq!(report(&health, "unused_indexes")["status"], "unknown");
    assert!(text.starts_with("Health of shop (MariaDB): critical"), "{text}");
    let waiting = HeldSession::start(database.target(), "UPDATE full SET b = 2");
    wait_for("the lock wait", || {
        (report(&check(&client, &["locks"]), "locks")["status"] == "warning").then_some(())
    });
    drop((held, waiting));
}

#[test]
fn sqlite_health_finds_index_problems() {
    let library = Library::new();
    let file = library.file_path("shop.db");
    execute_on_file(
        &file,
        "CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT, c TEXT);
         CREATE TABLE d (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a);
         CREATE INDEX spare ON a (b); CREATE INDEX kept ON a (b, c);",
    );
    let target = vademecum_sql::ConnectionTarget::Sqlite(file);
    let server = library.serve_with_settings(&profile_settings("shop", &target));
    let health = call_tool(&server.client(), TOOL, &json!({})).1;
    assert_eq!(health["status"], "notice");
    assert_eq!(
        finding(&health, "duplicate_indexes", "spare")["suggestion"],
        "DROP INDEX \"spare\";"
    );
    assert!(finding(&health, "missing_indexes", "d")["sentence"].is_string());
}

#[test]
fn unknown_check_is_named_in_error() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    let server = serve(&library, &database);
    let error = server.client().expect_tool_error(TOOL, &json!({ "checks": ["bloat", "mood"] }));
    assert!(error.contains("mood") && error.contains("wraparound"), "{error}");
}

/// The extension gives operators of arrays another meaning.
#[test]
fn health_is_right_with_intarray() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(PROBLEMS_SQL);
    database.execute("CREATE EXTENSION intarray; ANALYZE child; ANALYZE parent; ANALYZE bloated");
    let server = serve(&library, &database);
    let (_, health) = call_tool(&server.client(), TOOL, &json!({}));
    assert_eq!(finding(&health, "missing_indexes", "public.child")["severity"], "notice");
    // A superuser may read hashes of passwords beside the statistics that tell the bloat.
    for check in health["checks"].as_array().unwrap().iter().filter(|it| it["check"] != "bloat") {
        assert_ne!(check["status"], "unknown", "{check}");
    }
}

/// What one check wants to keep, no other check wants to drop.
#[test]
fn checks_do_not_contradict_each_other() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute(
        "CREATE TABLE parent (id integer PRIMARY KEY);
         INSERT INTO parent SELECT generate_series(1, 60000);
         CREATE TABLE child (id integer PRIMARY KEY, parent_id integer REFERENCES parent, a integer, b integer);
         INSERT INTO child SELECT g, g, g, g FROM generate_series(1, 60000) AS g;
         CREATE INDEX of_parent ON child (parent_id);
         CREATE INDEX kept ON child (a);
         CREATE INDEX spare ON child (a);
         CREATE INDEX idle ON child (b);
         ANALYZE parent; ANALYZE child",
    );
    let server = serve(&library, &database);
    let health =
        check(&server.client(), &["unused_indexes", "duplicate_indexes", "missing_indexes"]);
    let objects = |check: &str| -> Vec<String> {
        let findings = report(&health, check)["findings"].as_array().unwrap().iter();
        findings.map(|it| it["object"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(objects("unused_indexes"), ["public.idle"], "{health}");
    assert_eq!(objects("duplicate_indexes"), ["public.spare"], "{health}");
    assert!(objects("missing_indexes").is_empty(), "{health}");
}

#[test]
fn sqlite_health_measures_file() {
    let library = Library::new();
    let file = library.write_file("shop.db", "");
    #[expect(clippy::disallowed_methods, reason = "another program keeps the log")]
    let other = rusqlite::Connection::open(&file).unwrap();
    other
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE large (c BLOB); INSERT INTO large VALUES (zeroblob(70000000));
             DROP TABLE large;
             CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT); CREATE INDEX by_b ON a (b);
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO a SELECT i, printf('%0200d', i) FROM n;",
        )
        .unwrap();
    let target = vademecum_sql::ConnectionTarget::Sqlite(file.clone());
    let serve = || library.serve_with_settings(&profile_settings("shop", &target));
    let server = serve();
    let (text, health) = call_tool(&server.client(), TOOL, &json!({}));
    for (check, object, severity) in [
        ("overview", "database", "ok"),
        ("bloat", "database", "notice"),
        ("bloat", "write-ahead log", "notice"),
        ("vacuum", "database", "notice"),
    ] {
        assert_eq!(finding(&health, check, object)["severity"], severity, "{check}: {health}");
    }
    assert_eq!(report(&health, "integrity")["status"], "ok", "{health}");
    assert!(text.contains("VACUUM;") && text.contains("ANALYZE;"), "{text}");
    drop((server, other));
    execute_on_file(&file, "PRAGMA journal_mode = DELETE; VACUUM; ANALYZE;");
    let tidy = check(&serve().client(), &["bloat", "vacuum", "integrity"]);
    assert_eq!(tidy["status"], "ok", "{tidy}");
    // A page of the table is overwritten.
    let mut bytes = std::fs::read(&file).unwrap();
    let (half, size) = (bytes.len() / 8192 * 4096, 4096);
    bytes[half..half + size].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let damaged = check(&serve().client(), &["integrity"]);
    assert_eq!(damaged["status"], "critical", "{damaged}");
}
