//! Who may call custom tools, what writes, and what the audit log has of it.

use serde_json::{Value, json};

use super::{call_rows, find_listed, for_each_profile, order_databases, simple_tool};
use crate::support::{AllEngines, McpClient as _, PROFILES, Server, json_rpc_request};

const READ: &str = "SELECT id FROM orders ORDER BY id";

/// Serves several users; `ada` may use the three profiles.
fn serve_ada(databases: &AllEngines, tools: &str) -> Server {
    let profiles = databases.profile_settings("users = [\"ada\"]\n");
    databases.library.serve_multi_user(&format!("{tools}\n{profiles}"))
}

#[test]
fn tool_is_hidden_from_users_without_profile() {
    let databases = order_databases();
    let [ada, eve] = ["ada", "eve"].map(|user| databases.library.create_key(user));
    let scoped = databases.library.create_key_with("ada", &["--tools", "orders_lite"]);
    let noted = databases.library.create_key_with("ada", &["--sources", "notes"]);
    let tools = for_each_profile("orders", &simple_tool("{name}", "{profile}", READ));
    let server = serve_ada(&databases, &tools);
    let client = |key: &str| server.client().with_bearer_token(key);
    for profile in PROFILES {
        let tool = format!("orders_{profile}");
        assert!(find_listed(&client(&ada), &tool).is_some(), "{tool}");
        let rows = call_rows(&client(&ada), &tool, &json!({}));
        assert_eq!(rows, json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }]));
        for key in [&eve, &noted] {
            assert!(find_listed(&client(key), &tool).is_none(), "{tool}");
            let call = |name: &str| json!({ "name": name, "arguments": {} });
            let (code, message) = client(key).expect_error("tools/call", &call(&tool));
            let (_, unknown) = client(key).expect_error("tools/call", &call("nothing_like_it"));
            assert_eq!(code, -32_602);
            assert_eq!(message, unknown.replace("nothing_like_it", &tool), "existence is hidden");
        }
    }
    assert!(find_listed(&client(&scoped), "orders_lite").is_some());
    assert!(find_listed(&client(&scoped), "orders_pg").is_none());
}

#[test]
fn disabled_tool_is_refused() {
    let databases = order_databases();
    let tools = for_each_profile("orders", &simple_tool("{name}", "{profile}", READ));
    let tools = format!("[tools]\ndisabled = [\"orders_pg\"]\ndatabases = \"off\"\n{tools}");
    let settings = databases.write_settings(&tools);
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let client = server.client();
    assert!(find_listed(&client, "orders_pg").is_none());
    let call = json!({ "name": "orders_pg", "arguments": {} });
    let (_, message) = client.expect_error("tools/call", &call);
    assert!(message.contains("`orders_pg` is disabled"), "{message}");
    // The tools with statements of the caller are off, those of the settings are not.
    assert!(find_listed(&client, "query").is_none());
    assert_eq!(call_rows(&client, "orders_lite", &json!({})).as_array().unwrap().len(), 3);
}

const CLOSE: &str = "[tools.custom.{name}]
description = \"Close an order.\"
profile = \"{profile}\"
statement = \"UPDATE orders SET status = :status, total = :total WHERE id = :id\"
read_only = false
idempotent = true
[tools.custom.{name}.parameters.id]
type = \"integer\"
[tools.custom.{name}.parameters.status]
type = \"string\"
values = [\"closed\", \"lost\"]
default = \"closed\"
[tools.custom.{name}.parameters.total]
type = \"number\"
default = 0.1
";

#[test]
fn writing_tool_needs_every_permission() {
    let databases = order_databases();
    let tools = for_each_profile("close", CLOSE);
    let profiles = databases.profile_settings("users = [\"ada\"]\nunsafe_allow_write = true\n");
    let reader = databases.library.create_key("ada");
    let writer = databases.library.create_key_with("ada", &["--scope", "write"]);
    let call = |profile: &str, id: i64| json!({ "name": format!("close_{profile}"), "arguments": { "id": id } });
    {
        let server = databases.library.serve_multi_user(&format!("{tools}\n{profiles}"));
        let client = server.client().with_bearer_token(&writer);
        assert!(find_listed(&client, "close_pg").is_none());
        assert_eq!(client.expect_error("tools/call", &call("pg", 1)).0, -32_602);
    }
    let settings = format!("[tools]\nwrite = true\n{tools}\n{profiles}");
    let server = databases.library.serve_multi_user(&settings);
    let client = server.client().with_bearer_token(&writer);
    for profile in PROFILES {
        let tool = find_listed(&client, &format!("close_{profile}")).unwrap();
        assert_eq!(
            tool["annotations"],
            json!({
                "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true,
                "openWorldHint": false,
            })
        );
        let reads = server.client().with_bearer_token(&reader);
        assert!(find_listed(&reads, &format!("close_{profile}")).is_none());
        let request = json_rpc_request("tools/call", &call(profile, 1));
        assert_eq!(reads.send(&request).status, 403);
        let open = "SELECT count(*) FROM orders WHERE status = 'open'";
        assert_eq!(databases.query_count(profile, open), 2, "{profile}");
        let result = client.call_method("tools/call", &call(profile, 1));
        assert_eq!(result["structuredContent"]["rows_affected"], 1, "{profile}: {result}");
        assert_eq!(databases.query_count(profile, open), 1, "{profile}");
        let closed =
            "SELECT count(*) FROM orders WHERE status = 'closed' AND total = 0.1 AND id = 1";
        assert_eq!(databases.query_count(profile, closed), 1, "{profile}");
    }
}

#[test]
fn call_is_audited_and_counted_by_name() {
    let databases = order_databases();
    let settings = databases.write_settings(&simple_tool("orders", "lite", READ));
    let config = settings.to_str().unwrap();
    let server = databases.library.serve_with(&["--config", config]);
    call_rows(&server.client(), "orders", &json!({}));
    let metrics = server.request("GET", "/metrics").send().body;
    assert!(
        metrics.contains("vademecum_tool_calls_total{outcome=\"ok\",tool=\"orders\"} 1"),
        "{metrics}"
    );
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let row = loop {
        let rows = databases.library.run(&["audit", "--json"]).parse_json();
        let row = rows.as_array().unwrap().iter().find(|row| row["tool"] == "orders").cloned();
        if let Some(row) = row {
            break row;
        }
        assert!(std::time::Instant::now() < until, "{rows}");
    };
    assert_eq!((&row["method"], &row["outcome"]), (&json!("tools/call"), &json!("ok")), "{row}");
    assert!(row.to_string().contains("profile:lite"), "{row}");
    assert_ne!(row["tool"], Value::Null);
}
