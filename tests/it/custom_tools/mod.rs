//! Tools of the settings: statements with parameters on `PostgreSQL`, `MariaDB` and `SQLite`.

mod calls;
mod command_line;
mod definitions;
mod reload;
mod rights;

use serde_json::{Value, json};

use crate::support::{AllEngines, McpClient, PROFILES};

/// Tables of every test.
const ORDERS_SQL: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer VARCHAR(40), \
     status VARCHAR(10), total DECIMAL(30, 10), paid INTEGER, ordered_on DATE, shipped TIMESTAMP NULL);
INSERT INTO orders VALUES
 (1, 'Ada', 'open', 10.10, 0, '2026-01-01', NULL),
 (2, 'Eve', 'sent', 12345678901234567890.0000000001, 1, '2026-01-31', '2026-02-01 10:00:00'),
 (3, 'O''Hara', 'open', 30.00, 1, '2026-03-01', '2026-03-02 10:00:00');";

/// Returns three databases with the table `orders`.
fn order_databases() -> AllEngines {
    AllEngines::with_statements(ORDERS_SQL)
}

/// Returns the definition of a tool for each profile, named `<name>_<profile>`. In `text`,
/// `{profile}` and `{name}` are replaced.
fn for_each_profile(name: &str, text: &str) -> String {
    let define = |profile: &str| {
        text.replace("{profile}", profile).replace("{name}", &format!("{name}_{profile}"))
    };
    PROFILES.map(define).join("\n")
}

/// Returns the definition of a tool that takes no arguments.
fn simple_tool(name: &str, profile: &str, statement: &str) -> String {
    format!(
        "[tools.custom.{name}]\ndescription = \"A test.\"\nprofile = \"{profile}\"\n\
         statement = \"\"\"{statement}\"\"\"\n"
    )
}

/// Returns the listed tool of this name, if there is one.
fn find_listed(client: &impl McpClient, name: &str) -> Option<Value> {
    let listed = client.call_method("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).cloned()
}

/// Calls a tool and returns its rows. The text has a line for each of them.
fn call_rows(client: &impl McpClient, tool: &str, arguments: &Value) -> Value {
    let mut result = client.tool_result(tool, arguments);
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    let rows = result["structuredContent"]["rows"].take();
    let lines = result["content"][0]["text"].as_str().unwrap().lines().count();
    assert_eq!(lines, rows.as_array().unwrap().len() + 3, "{result}");
    rows
}
