//! Definitions of custom tools: a wrong one is left out, and the others are offered.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::{Value, json};

use super::{call_rows, find_listed, for_each_profile, order_databases, simple_tool};
use crate::support::{AllEngines, Library, McpClient as _, PROFILES};

/// Starts a server with these tools and the tool `good`, which alone must be offered. Returns its log.
fn log_of_wrong_tools(databases: &AllEngines, tools: &str) -> String {
    let good = simple_tool("good", "lite", "SELECT 1 AS one");
    let settings = databases.write_settings(&format!("{good}{tools}"));
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let client = server.client();
    assert_eq!(call_rows(&client, "good", &json!({})), json!([{ "one": 1 }]), "{tools}");
    for line in tools.lines() {
        let name = line.strip_prefix("[tools.custom.").and_then(|rest| rest.strip_suffix(']'));
        let Some(name) = name.filter(|name| !name.contains('.')) else { continue };
        let listed = find_listed(&client, name);
        let is_of_settings = listed.is_some_and(|tool| tool["description"] == "A test.");
        assert!(!is_of_settings, "{name}");
    }
    server.kill_and_read_log()
}

/// Returns the definition of a tool with the parameter `id`.
fn tool_with_id(name: &str, statement: &str) -> String {
    simple_tool(name, "pg", statement)
        + &format!("[tools.custom.{name}.parameters.id]\ntype = \"integer\"\n")
}

const READ: &str = "SELECT id FROM orders";

/// Returns a definition for each way to be wrong, and parts of the error.
fn wrong_definitions() -> Vec<(String, [&'static str; 2])> {
    vec![
        (simple_tool("t1", "attic", READ), ["tools.custom.t1.profile", "lite, maria, pg"]),
        (simple_tool("t2", "pg", "DELETE FROM orders"), ["tools.custom.t2.statement", "`DELETE`"]),
        (tool_with_id("t3", READ), ["tools.custom.t3.parameters.id", "`:id`"]),
        (
            tool_with_id("t4", "SELECT :id::int") + "default = 9\nmaximum = 8\n",
            ["tools.custom.t4.parameters.id.default", "at most 8"],
        ),
        (simple_tool("query", "pg", READ), ["tools.custom.query: ", "another name"]),
        (simple_tool("Notes_search", "pg", READ), ["`notes.search`", "another name"]),
        (
            simple_tool("t5", "pg", READ) + "read_only = false\n",
            ["tools.custom.t5.read_only", "[profiles.pg]"],
        ),
        (
            tool_with_id("t6", "SELECT pg_read_file(:id)"),
            ["tools.custom.t6.statement", "pg_read_file"],
        ),
        (
            simple_tool("t7", "maria", "SELECT id FROM no_such_table"),
            ["tools.custom.t7.statement: the database refuses it", "no_such_table"],
        ),
    ]
}

#[test]
fn wrong_definition_is_left_out_with_remedy() {
    let databases = order_databases();
    let wrong = wrong_definitions();
    let tools: Vec<&str> = wrong.iter().map(|(tool, _)| tool.as_str()).collect();
    let log = log_of_wrong_tools(&databases, &tools.concat());
    for (_, parts) in &wrong {
        let mut lines = log.lines();
        assert!(lines.any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?}: {log}");
    }
    assert!(log.contains("settings.toml: tools.custom."), "{log}");
}

#[test]
fn statement_that_database_refuses_is_left_out() {
    let databases = order_databases();
    let tools = PROFILES.map(|profile| {
        simple_tool(&format!("missing_{profile}"), profile, "SELECT id FROM no_such_table")
            + &simple_tool(
                &format!("twice_{profile}"),
                profile,
                "SELECT id, customer AS id FROM orders",
            )
    });
    // Each identifier is tried.
    let tool = simple_tool("t", "pg", "SELECT id FROM orders ORDER BY :by");
    let by = "[tools.custom.t.parameters.by]\ntype = \"identifier\"\nvalues = [\"id\", \"ident\"]";
    let log = log_of_wrong_tools(&databases, &format!("{}{tool}{by}\n", tools.concat()));
    for profile in PROFILES {
        for name in ["missing", "twice"] {
            let error = format!("tools.custom.{name}_{profile}.statement: the database refuses it");
            assert!(log.contains(&error), "{error}: {log}");
        }
    }
    assert!(log.contains("\"ident\" does not exist"), "{log}");
}

/// A command that does not use custom tools works as well.
#[test]
fn tool_list_shows_wrong_tools_with_reasons() {
    let databases = order_databases();
    let wrong = wrong_definitions();
    let tools: Vec<&str> = wrong.iter().map(|(tool, _)| tool.as_str()).collect();
    let good = for_each_profile("good", &simple_tool("{name}", "{profile}", READ));
    let settings = databases.write_settings(&format!("{good}{}", tools.concat()));
    let config = ["--config", settings.to_str().unwrap()];
    let run = |command: &[&str]| databases.library.run(&[command, &config].concat());
    let listed = run(&["tool", "list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert_eq!(listed.stdout.lines().count(), PROFILES.len() + wrong.len(), "{listed:?}");
    for profile in PROFILES {
        let line = format!("good_{profile}\t{profile}\tread-only\tready\tA test.");
        assert!(listed.stdout.lines().any(|it| it == line), "{line}: {listed:?}");
    }
    let found = run(&["tool", "list", "--json"]).parse_json();
    let states: Vec<&str> =
        found.as_array().unwrap().iter().map(|tool| tool["state"].as_str().unwrap()).collect();
    for (_, parts) in &wrong {
        let is_reason =
            |text: &str| text.contains("wrong: ") && parts.iter().all(|part| text.contains(part));
        assert!(listed.stdout.lines().any(is_reason), "{parts:?}: {listed:?}");
        assert!(states.iter().copied().any(is_reason), "{parts:?}: {states:?}");
    }
    let done = run(&["tool", "test", "good_lite"]);
    assert!(done.code == 0 && done.stdout.contains("3 rows"), "{done:?}");
    let done = run(&["tool", "test", "t1"]);
    assert!(done.code == 2 && done.stderr.contains("tools.custom.t1.profile"), "{done:?}");
    let done = run(&["check"]);
    assert_eq!(done.code, 1, "{done:?}");
    let errors = done.stdout.lines().filter(|it| it.starts_with("error")).count();
    assert_eq!(errors, wrong.len(), "{done:?}");
    let done = run(&["list", "--source", "notes"]);
    assert_eq!(done.code, 0, "{done:?}");
}

/// A custom tool cannot free the name of a disabled tool of the program.
#[test]
fn wrong_tool_stays_disabled_with_others() {
    let databases = order_databases();
    let tools = [
        "[tools]\ndisabled = [\"query\", \"gone\", \"good\"]\n".to_owned(),
        simple_tool("query", "lite", READ),
        simple_tool("gone", "attic", READ),
        simple_tool("good", "lite", READ),
        simple_tool("better", "lite", READ),
    ];
    let settings = databases.write_settings(&tools.concat());
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let client = server.client();
    for name in ["query", "gone", "good"] {
        assert!(find_listed(&client, name).is_none(), "{name}");
        let call = json!({ "name": name, "arguments": { "sql": "SELECT 1", "profile": "lite" } });
        assert_eq!(client.expect_error("tools/call", &call).0, -32_602, "{name}");
    }
    assert_eq!(call_rows(&client, "better", &json!({})).as_array().unwrap().len(), 3);
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
