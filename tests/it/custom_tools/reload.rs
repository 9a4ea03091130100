//! Reloading custom tools without a restart.

use serde_json::json;

use super::{call_rows, find_listed, order_databases, simple_tool};
use crate::support::{McpClient as _, json_rpc_request};

const CHANGED: &str = "notifications/tools/list_changed";

#[test]
fn changed_settings_file_replaces_tools() {
    let databases = order_databases();
    let first = simple_tool("first", "lite", "SELECT 1 AS one");
    let settings = databases.write_settings(&first);
    let config = settings.to_str().unwrap();
    let server = databases.library.serve_with(&["--config", config]);
    let session = server.open_session();
    let mut stream = session.open_notification_stream();
    let listen = json_rpc_request(
        "subscriptions/listen",
        &json!({ "notifications": { "toolsListChanged": true } }),
    );
    let mut subscription = server.stateless_client().stream(&listen);
    let agreed = subscription.expect_message();
    assert_eq!(agreed["params"]["notifications"], json!({ "toolsListChanged": true }), "{agreed}");
    let second = simple_tool("second", "pg", "SELECT 2 AS two");
    databases.write_settings(&second);
    assert_eq!(stream.expect_message()["method"], CHANGED);
    let news = subscription.expect_message();
    assert_eq!(news["method"], CHANGED);
    assert_eq!(news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{news}");
    assert!(find_listed(&session, "first").is_none());
    assert_eq!(call_rows(&session, "second", &json!({})), json!([{ "two": 2 }]));
    let metrics = server.request("GET", "/metrics").send().body;
    assert!(metrics.contains("tool=\"second\"} 1"), "{metrics}");
    let call = json!({ "name": "first", "arguments": {} });
    assert!(session.expect_error("tools/call", &call).1.contains("unknown tool `first`"));
}

#[test]
fn wrong_settings_file_keeps_tools() {
    let databases = order_databases();
    let good = simple_tool("good", "lite", "SELECT 1 AS one");
    let settings = databases.write_settings(&good);
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let session = server.open_session();
    let mut stream = session.open_notification_stream();
    let bad = simple_tool("bad", "lite", "SELECT x FROM nowhere");
    databases.write_settings(&format!("{good}{bad}"));
    databases.write_settings("[tools]\nno_such_key = 1\n");
    // The next correct file is loaded although wrong ones came before it.
    databases.write_settings(&format!("{good}{}", simple_tool("more", "lite", "SELECT 2 AS two")));
    assert_eq!(stream.expect_message()["method"], CHANGED);
    assert!(find_listed(&session, "more").is_some() && find_listed(&session, "good").is_some());
    assert!(find_listed(&session, "bad").is_none());
}

#[test]
fn wrong_tool_of_changed_file_leaves_others() {
    let databases = order_databases();
    let settings = databases.write_settings(&simple_tool("first", "lite", "SELECT 1 AS one"));
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let session = server.open_session();
    let mut stream = session.open_notification_stream();
    let tools = [
        simple_tool("first", "lite", "SELECT x FROM nowhere"),
        simple_tool("second", "attic", "SELECT 2 AS two"),
        simple_tool("third", "pg", "SELECT 3 AS three"),
    ];
    databases.write_settings(&tools.concat());
    assert_eq!(stream.expect_message()["method"], CHANGED);
    assert_eq!(call_rows(&session, "third", &json!({})), json!([{ "three": 3 }]));
    assert!(find_listed(&session, "first").is_none(), "its old statement is not kept");
    assert!(find_listed(&session, "second").is_none());
    server.wait_for_log("tools.custom.first.statement: the database refuses it");
    server.wait_for_log("tools.custom.second.profile: ");
}

#[cfg(unix)]
#[test]
fn hangup_signal_reloads_and_error_is_logged() {
    let databases = order_databases();
    let good = simple_tool("good", "lite", "SELECT 1 AS one");
    let settings = databases.write_settings(&good);
    let server = databases.library.serve_with(&["--config", settings.to_str().unwrap()]);
    let hang_up = || {
        let process = server.process().to_string();
        let done = std::process::Command::new("kill").args(["-HUP", &process]).status();
        assert!(done.unwrap().success());
    };
    databases.write_settings(&format!("{good}{}", simple_tool("bad", "lite", "SELECT x FROM t0")));
    hang_up();
    server.wait_for_log("tools.custom.bad.statement: the database refuses it");
    hang_up();
    let session = server.open_session();
    let mut stream = session.open_notification_stream();
    databases.write_settings(&format!("{good}{}", simple_tool("more", "lite", "SELECT 2 AS two")));
    hang_up();
    assert_eq!(stream.expect_message()["method"], CHANGED);
    assert_eq!(call_rows(&session, "good", &json!({})), json!([{ "one": 1 }]));
    drop(stream);
    let log = server.kill_and_read_log();
    assert!(log.contains("settings.toml"), "{log}");
}

#[test]
fn server_without_settings_file_claims_no_changes() {
    let library = crate::support::Library::new();
    let server = library.serve();
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let info = server.client().call_method("initialize", &initialize);
    assert_eq!(info["capabilities"]["tools"]["listChanged"], false);
    let server = library.serve_with_settings("");
    let info = server.client().call_method("initialize", &initialize);
    assert_eq!(info["capabilities"]["tools"]["listChanged"], true);
}
