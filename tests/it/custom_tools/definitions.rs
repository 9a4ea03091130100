//! Definitions of custom tools: what keeps the server from starting, and what does not.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::{Value, json};

use super::{find_listed, for_each_profile, order_databases, simple_tool};
use crate::support::{AllEngines, Library, McpClient as _, PROFILES};

/// Starts a server that must fail, and returns what it says.
fn start_error(databases: &AllEngines, tools: &str) -> String {
    let settings = databases.write_settings(tools);
    let config = ["--config", settings.to_str().unwrap()];
    let done =
        databases.library.run(&[&["serve", "--listen", "127.0.0.1:0"][..], &config].concat());
    assert_ne!(done.code, 0, "{tools}: {done:?}");
    assert!(!done.stderr.contains("listening"), "{done:?}");
    done.stderr
}

#[test]
fn wrong_definition_fails_start_with_remedy() {
    let databases = order_databases();
    let id = "[tools.custom.t.parameters.id]\ntype = \"integer\"\n";
    let good = "SELECT id FROM orders";
    for (tools, parts) in [
        (simple_tool("t", "attic", good), ["tools.custom.t.profile", "lite, maria, pg"]),
        (simple_tool("t", "pg", "DELETE FROM orders"), ["tools.custom.t.statement", "`DELETE`"]),
        (simple_tool("t", "pg", good) + id, ["tools.custom.t.parameters.id", "`:id`"]),
        (
            simple_tool("t", "pg", "SELECT :id::int") + id + "default = 9\nmaximum = 8\n",
            ["tools.custom.t.parameters.id.default", "at most 8"],
        ),
        (simple_tool("query", "pg", good), ["tools.custom.query", "another name"]),
        (simple_tool("notes_search", "pg", good), ["`notes.search`", "another name"]),
        (
            simple_tool("t", "pg", good) + "read_only = false\n",
            ["tools.custom.t.read_only", "[profiles.pg]"],
        ),
        (
            simple_tool("t", "pg", "SELECT pg_read_file(:id)") + id,
            ["tools.custom.t.statement", "pg_read_file"],
        ),
    ] {
        let error = start_error(&databases, &tools);
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
    let error = start_error(&databases, &simple_tool("t", "attic", good));
    assert!(error.contains("settings.toml"), "{error}");
}

#[test]
fn statement_that_database_refuses_fails_start() {
    let databases = order_databases();
    for profile in PROFILES {
        for statement in ["SELECT id FROM no_such_table", "SELECT id, customer AS id FROM orders"] {
            let error = start_error(&databases, &simple_tool("t", profile, statement));
            assert!(error.contains("tools.custom.t.statement: the database refuses it"), "{error}");
        }
    }
    // Each identifier is tried.
    let tool = simple_tool("t", "pg", "SELECT id FROM orders ORDER BY :by");
    let by = "[tools.custom.t.parameters.by]\ntype = \"identifier\"\nvalues = [\"id\", \"ident\"]";
    let error = start_error(&databases, &format!("{tool}{by}"));
    assert!(error.contains("\"ident\" does not exist"), "{error}");
}

#[test]
fn unreachable_database_does_not_prevent_start() {
    let library = Library::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let settings = format!(
        "[profiles.gone]\ndsn = \"postgres://ada@127.0.0.1:{port}/shop\"\n{}",
        simple_tool("t", "gone", "SELECT 1 AS one")
    );
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let tool = find_listed(&client, "t").unwrap();
    assert_eq!(tool["outputSchema"]["properties"]["rows"]["items"], json!({ "type": "object" }));
    let error = client.expect_tool_error("t", &json!({}));
    assert!(error.contains("not reachable yet: "), "{error}");
    assert!(error.contains("cannot be reached"), "{error}");
    let file = library.file_path("settings.toml");
    let done = library.run(&["check", "--config", file.to_str().unwrap()]);
    let line = done.stdout.lines().find(|line| line.contains("custom tool t")).unwrap();
    assert!(line.starts_with("warning") && line.contains("not reachable yet: "), "{line}");
    let listed = library.run(&["tool", "list", "--config", file.to_str().unwrap()]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.starts_with("t\tgone\tread-only\tnot reachable yet: "), "{listed:?}");
}

/// Another program holds the lock of the file while the server starts and reloads.
#[test]
fn locked_database_delays_only_its_tools() {
    let library = Library::new();
    let file = library.write_file("shop.db", "");
    #[expect(clippy::disallowed_methods, reason = "another program locks the file")]
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("CREATE TABLE orders (id INTEGER); BEGIN EXCLUSIVE;").unwrap();
    let profile = format!("[profiles.shop]\npath = '{}'\nengine = \"sqlite\"\n", file.display());
    let tool = simple_tool("orders", "shop", "SELECT id FROM orders");
    let server = library.serve_with_settings(&format!("{profile}{tool}"));
    let session = server.open_session();
    let listed = find_listed(&session, "orders").unwrap();
    let columns = |listed: &Value| listed["outputSchema"]["properties"]["rows"]["items"].clone();
    assert_eq!(columns(&listed), json!({ "type": "object" }));
    let mut stream = session.open_notification_stream();
    let more = simple_tool("more", "shop", "SELECT id AS number FROM orders");
    library.write_file("settings.toml", format!("{profile}{tool}{more}"));
    assert_eq!(stream.expect_message()["method"], "notifications/tools/list_changed");
    assert!(find_listed(&session, "more").is_some(), "a reload does not wait either");
    database.execute_batch("COMMIT").unwrap();
    // The columns are known as soon as the database answers.
    assert_eq!(stream.expect_message()["method"], "notifications/tools/list_changed");
    let listed = find_listed(&session, "orders").unwrap();
    assert!(columns(&listed)["properties"]["id"].is_object(), "{listed}");
}

#[test]
fn check_reports_each_custom_tool() {
    let databases = order_databases();
    let tools = for_each_profile("t", &simple_tool("{name}", "{profile}", "SELECT id FROM orders"));
    let bad = simple_tool("bad", "lite", "SELECT id FROM nowhere");
    let settings = databases.write_settings(&format!("{tools}\n{bad}"));
    let done = databases.library.run(&["check", "--config", settings.to_str().unwrap()]);
    assert_eq!(done.code, 1, "{done:?}");
    for name in ["t_lite", "t_maria", "t_pg"] {
        let sound = format!("custom tool {name}: the database accepts its statement");
        assert!(
            done.stdout.lines().any(|it| it.starts_with("ok") && it.contains(&sound)),
            "{done:?}"
        );
    }
    let wrong = done.stdout.lines().find(|line| line.contains("custom tool bad")).unwrap();
    assert!(wrong.starts_with("error") && wrong.contains("no such table: nowhere"), "{wrong}");
}
