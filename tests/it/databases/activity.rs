//! End-to-end tests of `database_activity`: running, waiting and costly statements.

use serde_json::json;

use super::{
    call_tool,
    held_session::{HeldSession, wait_for},
    profile_settings,
};
use crate::support::{Library, McpClient as _, TestDatabase};

const TOOL: &str = "database_activity";

#[test]
fn running_statement_is_listed_with_masked_literals() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    database.execute("CREATE TABLE t (a text)");
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let (text, _) = call_tool(&client, TOOL, &json!({ "kind": "active" }));
    assert!(text.contains("No other session runs a statement"), "{text}");
    let holding = HeldSession::start(database.target(), "BEGIN; LOCK TABLE t /* hidden-1 */");
    let active = |kind: &str| call_tool(&client, TOOL, &json!({ "kind": kind }));
    wait_for("the lock", || active("active").0.contains("idle in transaction").then_some(()));
    let waiting = HeldSession::start(database.target(), "SELECT * FROM t WHERE a = 'hidden-2'");
    let (text, listed) = wait_for("the lock wait", || {
        let answer = active("locks");
        (!answer.1["statements"].as_array().unwrap().is_empty()).then_some(answer)
    });
    let [statement] = listed["statements"].as_array().unwrap().as_slice() else {
        panic!("{listed}")
    };
    assert_eq!(statement["query"], "SELECT * FROM t WHERE a = ?");
    assert_eq!(statement["blocking_query"], "BEGIN; LOCK TABLE t");
    assert_eq!(statement["blocking_state"], "idle in transaction");
    assert!(statement["pid"].is_number() && statement["wanted"].is_string(), "{statement}");
    let sentence = statement["sentence"].as_str().unwrap();
    assert!(sentence.contains("t AccessShareLock") && text.contains(sentence), "{sentence}");
    let (text, listed) = active("active");
    assert_eq!(listed["statements"].as_array().unwrap().len(), 2, "{listed}");
    assert!(!text.contains("hidden-") && !listed.to_string().contains("hidden-"), "{text}");
    drop((holding, waiting));
}

#[test]
fn top_statements_need_extension() {
    let (database, library) = (TestDatabase::postgres(), Library::new());
    let server = library.serve_with_settings(&profile_settings("shop", &database.target()));
    let client = server.client();
    let arguments = json!({ "kind": "top", "limit": 100 });
    let error = client.expect_tool_error(TOOL, &arguments);
    assert!(error.contains("CREATE EXTENSION pg_stat_statements"), "{error}");
    database.execute(
        "CREATE SCHEMA \"My Tools\"; CREATE EXTENSION pg_stat_statements SCHEMA \"My Tools\"",
    );
    database.execute("SELECT count(*) FROM generate_series(1, 1000) AS lantern WHERE lantern > 17");
    database.execute("DO $$ BEGIN PERFORM 'hidden-3'; END $$");
    let (text, listed) = call_tool(&client, TOOL, &arguments);
    let statements = listed["statements"].as_array().unwrap();
    let found = statements.iter().find(|it| it["query"].as_str().unwrap().contains("lantern"));
    let found = found.unwrap_or_else(|| panic!("{listed}"));
    assert!(found["calls"] == 1 && found["total_ms"].is_number(), "{found}");
    assert!(found["sentence"].as_str().unwrap().starts_with("1 call took "), "{found}");
    assert!(statements.iter().any(|it| it["query"] == "DO ?"), "{listed}");
    assert!(!text.contains("hidden-3"), "{text}");
}

#[test]
fn engine_without_list_is_named_in_error() {
    let (database, library) = (TestDatabase::mariadb(), Library::new());
    let file = vademecum_sql::ConnectionTarget::Sqlite(library.file_path("shop.db"));
    super::execute_on_file(&library.file_path("shop.db"), "CREATE TABLE t (a)");
    let settings = profile_settings("maria", &database.target()) + &profile_settings("lite", &file);
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    for (profile, kind, expected) in
        [("maria", "top", "performance_schema is off"), ("lite", "active", "SQLite keeps no list")]
    {
        let error = client.expect_tool_error(TOOL, &json!({ "profile": profile, "kind": kind }));
        assert!(error.contains(expected), "{error}");
    }
    let waiting = HeldSession::start(database.target(), "DO SLEEP(2)");
    wait_for("the running statement", || {
        let arguments = json!({ "profile": "maria", "kind": "active" });
        let listed = call_tool(&client, TOOL, &arguments).1;
        listed.to_string().contains("DO SLEEP(?)").then_some(())
    });
    drop(waiting);
    for arguments in [json!({ "kind": "top", "limit": 0 }), json!({ "kind": "top", "limit": 101 })]
    {
        let error = client.expect_tool_error(TOOL, &arguments);
        assert!(error.contains("limit"), "{error}");
    }
}
