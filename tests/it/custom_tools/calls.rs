//! Calls of custom tools: schemas, values and lists on every engine.

use serde_json::{Value, json};

use super::{call_rows, find_listed, for_each_profile, order_databases, simple_tool};
use crate::support::{McpClient as _, PROFILES};

const SEARCH: &str = "[tools.custom.{name}]
title = \"Orders\"
description = \"Find orders.\"
profile = \"{profile}\"
statement = '''
-- :nothing
SELECT id, customer AS \"who: :not_a_parameter\", total FROM orders
WHERE (:status IS NULL OR status = :status) AND total >= :least AND ordered_on >= :since
ORDER BY :by LIMIT :limit'''
[tools.custom.{name}.parameters.status]
type = \"string\"
required = false
[tools.custom.{name}.parameters.least]
type = \"number\"
description = \"Smallest total.\"
default = 0
[tools.custom.{name}.parameters.since]
type = \"date\"
default = 2026-01-01
[tools.custom.{name}.parameters.by]
type = \"identifier\"
values = [\"id\", \"total\"]
default = \"id\"
[tools.custom.{name}.parameters.limit]
type = \"integer\"
minimum = 1
maximum = 10
default = 10
";

/// Returns the values of column `id`.
fn ids(rows: &Value) -> Vec<i64> {
    rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[test]
fn tool_is_listed_with_schemas() {
    let databases = order_databases();
    let settings = databases.write_settings(&for_each_profile("orders", SEARCH));
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    for profile in PROFILES {
        let tool = find_listed(&server.client(), &format!("orders_{profile}")).unwrap();
        assert_eq!(
            (&tool["title"], &tool["description"]),
            (&json!("Orders"), &json!("Find orders."))
        );
        assert_eq!(tool["annotations"], json!({ "readOnlyHint": true, "openWorldHint": false }));
        let input = &tool["inputSchema"];
        assert_eq!(input["additionalProperties"], false);
        assert!(input.get("required").is_none(), "{input}");
        let parameters = &input["properties"];
        assert_eq!(
            parameters["limit"],
            json!({ "type": "integer", "minimum": 1, "maximum": 10, "default": 10 })
        );
        assert_eq!(
            parameters["by"],
            json!({ "type": "string", "enum": ["id", "total"], "default": "id" })
        );
        assert_eq!(parameters["since"]["default"], "2026-01-01");
        let columns = &tool["outputSchema"]["properties"]["rows"]["items"]["properties"];
        let names: Vec<&String> = columns.as_object().unwrap().keys().collect();
        assert_eq!(names, ["id", "total", "who: :not_a_parameter"], "{profile}: {tool}");
    }
}

#[test]
fn arguments_are_bound_as_values() {
    let databases = order_databases();
    let settings = databases.write_settings(&for_each_profile("orders", SEARCH));
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let client = server.client();
    for profile in PROFILES {
        let tool = format!("orders_{profile}");
        let found = |arguments: &Value| ids(&call_rows(&client, &tool, arguments));
        assert_eq!(found(&json!({})), [1, 2, 3], "{profile}");
        assert_eq!(found(&json!({ "status": "open", "limit": "1" })), [1], "{profile}");
        assert_eq!(found(&json!({ "status": null, "since": "2026-01-31" })), [2, 3], "{profile}");
        assert_eq!(found(&json!({ "by": "total" })), [1, 3, 2], "{profile}");
        for attack in ["' OR '1'='1", "open' --", "\\' OR 1=1 #", "open\u{2019}; DROP TABLE orders"]
        {
            assert_eq!(found(&json!({ "status": attack })), [0_i64; 0], "{profile}: {attack}");
        }
        let row = call_rows(&client, &tool, &json!({ "least": 10.5, "limit": 1, "by": "total" }));
        assert_eq!(row[0]["who: :not_a_parameter"], "O'Hara", "{profile}");
    }
    assert_eq!(databases.query_count("pg", "SELECT count(*) FROM orders"), 3);
    // Every digit counts; SQLite stores the number as a floating-point number.
    for profile in ["pg", "maria"] {
        let tool = format!("orders_{profile}");
        for (least, expected) in [
            ("12345678901234567890.0000000001", &[2][..]),
            ("12345678901234567890.0000000002", &[]),
        ] {
            let rows = call_rows(&client, &tool, &json!({ "least": least }));
            assert_eq!(ids(&rows), expected, "{profile}: {least}");
        }
    }
}

#[test]
fn lists_and_times_work_on_every_engine() {
    let databases = order_databases();
    let parameters = "[tools.custom.NAME.parameters.ids]\ntype = \"integer\"\narray = true\n\
                      max_items = 3\n[tools.custom.NAME.parameters.before]\ntype = \"timestamp\"\n\
                      default = \"2027-01-01T00:00:00Z\"\n";
    let tool = |profile: &str, not: &str| {
        let (name, is_in) = match (profile, not) {
            ("pg", "") => (format!("some_{profile}"), "id = ANY(:ids)"),
            ("pg", _) => (format!("other_{profile}"), "id <> ALL(:ids)"),
            (_, "") => (format!("some_{profile}"), "id IN (:ids)"),
            _ => (format!("other_{profile}"), "id NOT IN ( :ids )"),
        };
        let statement = format!(
            "SELECT id FROM orders WHERE {is_in} AND (shipped IS NULL OR shipped < :before) ORDER BY id"
        );
        simple_tool(&name, profile, &statement) + &parameters.replace("NAME", &name)
    };
    let tools = PROFILES.map(|profile| tool(profile, "") + &tool(profile, "NOT"));
    let settings = databases.write_settings(&tools.join("\n"));
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let client = server.client();
    for profile in PROFILES {
        let (some, other) = (format!("some_{profile}"), format!("other_{profile}"));
        let found = |tool: &str, ids_given: Value| {
            ids(&call_rows(&client, tool, &json!({ "ids": ids_given })))
        };
        assert_eq!(found(&some, json!([3, 1])), [1, 3], "{profile}");
        assert_eq!(found(&some, json!(2)), [2], "{profile}");
        assert_eq!(found(&some, json!([])), [0_i64; 0], "{profile}");
        assert_eq!(found(&other, json!([3, 1])), [2], "{profile}");
        assert_eq!(found(&other, json!([])), [1, 2, 3], "{profile}");
        let early = json!({ "ids": [1, 2, 3], "before": "2026-02-01T12:00:01+02:00" });
        assert_eq!(ids(&call_rows(&client, &some, &early)), [1, 2], "{profile}");
        let early = json!({ "ids": [1, 2, 3], "before": "2026-02-01T12:00:00+02:00" });
        assert_eq!(ids(&call_rows(&client, &some, &early)), [1], "{profile}");
        let error = client.expect_tool_error(&some, &json!({ "ids": [1, 2, 3, 4] }));
        assert_eq!(error, "ids: has 4 values; pass at most 3");
    }
}

#[test]
fn invalid_argument_error_says_what_is_expected() {
    let databases = order_databases();
    let settings = databases.write_settings(&for_each_profile("orders", SEARCH));
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let client = server.client();
    for (arguments, expected) in [
        (json!({ "limit": 0 }), "limit: expected an integer from 1 to 10, got `0`"),
        (json!({ "since": "2026-02-30" }), "since: expected a date such as 2026-01-31"),
        (json!({ "by": "status" }), "by: expected one of \"id\", \"total\", got `status`"),
        (json!({ "by": "id; DROP TABLE orders" }), "by: expected one of \"id\""),
        (json!({ "status": { "$ne": 1 } }), "status: expected text"),
        (json!({ "stats": "open" }), "unknown argument `stats`; expected by, least, limit"),
    ] {
        let error = client.expect_tool_error("orders_lite", &arguments);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[test]
fn caps_of_tool_limit_rows() {
    let databases = order_databases();
    let tools = for_each_profile(
        "capped",
        &(simple_tool("{name}", "{profile}", "SELECT id FROM orders ORDER BY id")
            + "max_rows = 2\n"),
    );
    let settings = databases.write_settings(&tools);
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    for profile in PROFILES {
        let result = server.client().tool_result(&format!("capped_{profile}"), &json!({}));
        assert_eq!(
            result["structuredContent"],
            json!({ "columns": ["id"], "rows": [{ "id": 1 }, { "id": 2 }], "truncated": true })
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("2 rows; a limit kept back further rows"), "{text}");
    }
}
