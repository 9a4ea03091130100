//! `vademecum tool`: listing and testing custom tools.

use serde_json::json;

use super::{for_each_profile, order_databases, simple_tool};
use crate::support::{AllEngines, CommandOutput, PROFILES};

const FIND: &str = "[tools.custom.{name}]
description = \"Find orders.\"
profile = \"{profile}\"
statement = \"SELECT id, customer FROM orders WHERE status = :status ORDER BY id\"
[tools.custom.{name}.parameters.status]
type = \"string\"
";

fn run_tool_command(databases: &AllEngines, arguments: &[&str]) -> CommandOutput {
    let file = databases.library.file_path("settings.toml");
    databases.library.run(&[&["tool"], arguments, &["--config", file.to_str().unwrap()]].concat())
}

#[test]
fn tool_test_prints_statement_values_and_rows() {
    let databases = order_databases();
    databases.write_settings(&for_each_profile("find", FIND));
    for profile in PROFILES {
        let name = format!("find_{profile}");
        let place = if profile == "pg" { "$1" } else { "?" };
        let statement =
            format!("SELECT id, customer FROM orders WHERE status = {place} ORDER BY id");
        let done = run_tool_command(&databases, &["test", &name, "--arg", "status=open"]);
        assert_eq!(done.code, 0, "{done:?}");
        for part in [statement.as_str(), "value 1: \"open\"", "O'Hara", "2 rows, ", " ms"] {
            assert!(done.stdout.contains(part), "{part}: {done:?}");
        }
        let done = run_tool_command(&databases, &["test", &name, "--arg", "status=sent", "--json"]);
        let data = done.parse_json()["data"].take();
        assert_eq!((&data["statement"], &data["values"]), (&json!(statement), &json!(["sent"])));
        assert_eq!((&data["rows"], &data["truncated"]), (&json!([[2, "Eve"]]), &json!(false)));
        assert!(data["duration_ms"].as_f64().unwrap() > 0.0);
    }
    let listed = run_tool_command(&databases, &["list"]);
    assert!(
        listed.stdout.starts_with("find_lite\tlite\tread-only\tready\tFind orders.\n"),
        "{listed:?}"
    );
    let listed = run_tool_command(&databases, &["list", "--json"]).parse_json();
    assert_eq!(listed[2]["parameters"], json!(["status"]));
}

#[test]
fn tool_test_rejects_wrong_arguments() {
    let databases = order_databases();
    let write = simple_tool("clear", "lite", "DELETE FROM orders") + "read_only = false\n";
    let text = format!(
        "{}{write}{}",
        for_each_profile("find", FIND),
        databases.profile_settings("unsafe_allow_write = true\n")
    );
    databases.library.write_file("settings.toml", text);
    for (arguments, code, expected) in [
        (&["test", "find"][..], 2, "the settings have: clear, find_lite"),
        (&["test", "find_pg"], 2, "status: is required; expected text"),
        (&["test", "find_pg", "--arg", "status"], 2, "write --arg NAME=VALUE"),
        (&["test", "find_pg", "--arg", "status=a", "--arg", "status=b"], 2, "given twice"),
        (&["test", "find_pg", "--arg", "state=a"], 2, "unknown argument `state`"),
        (&["test", "clear"], 4, "--write"),
    ] {
        let done = run_tool_command(&databases, arguments);
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{arguments:?}: {done:?}");
    }
    assert_eq!(databases.query_count("lite", "SELECT count(*) FROM orders"), 3);
    let done = run_tool_command(&databases, &["test", "clear", "--write"]);
    assert!(done.code == 0 && done.stdout.contains("rows changed: 3"), "{done:?}");
    assert_eq!(databases.query_count("lite", "SELECT count(*) FROM orders"), 0);
}
