//! The audit log: who called what from where, with which outcome, and what it must not contain.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Library, McpClient, json_rpc_request};

/// Reads the log as JSON with additional arguments until it satisfies the condition, because the
/// server writes it in the background.
fn wait_for_rows(
    library: &Library,
    arguments: &[&str],
    is_complete: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let done = library.run(&[&["audit", "--json"], arguments].concat());
        assert_eq!(done.code, 0, "{done:?}");
        let Value::Array(rows) = done.parse_json() else { panic!("{done:?}") };
        if is_complete(&rows) {
            return rows;
        }
        assert!(Instant::now() < until, "{rows:#?}");
    }
}

/// Returns the only row of a tool or method.
fn only_row<'a>(rows: &'a [Value], tool: &str) -> &'a Value {
    let found: Vec<&Value> =
        rows.iter().filter(|row| row["tool"] == tool || row["method"] == tool).collect();
    assert_eq!(found.len(), 1, "{tool}: {rows:#?}");
    found[0]
}

/// The id of an API key, which is not secret.
fn key_id(key: &str) -> &str {
    key.split('_').nth(1).unwrap()
}

/// Creates the libraries of ada and eve with one note each.
fn two_libraries() -> Library {
    let library = Library::new();
    library.import_for_user("ada", "notes", "ada.md", "An amethyst.");
    library.import_for_user("eve", "notes", "eve.md", "An emerald.");
    library
}

#[test]
fn call_is_audited_with_caller_items_and_outcome() {
    let library = two_libraries();
    let key = library.create_key("ada");
    let server = library.serve_multi_user("[tools]\nwrite = true");
    let client = server.client().with_bearer_token(&key).initialize_session();
    let uri = client.search_uris("knowledge.search", &json!({ "query": "amethyst" })).remove(0);
    client.call_method("resources/read", &json!({ "uri": uri }));
    client.tool_result("notes.get", &json!({ "note_id": "no-such-note" }));
    let create = json!({ "name": "notes.create", "arguments": { "content": "An opal." } });
    assert_eq!(client.send(&json_rpc_request("tools/call", &create)).status, 403);
    client.expect_error("resources/read", &json!({ "uri": "notes://no-such-note" }));
    let rows = wait_for_rows(&library, &["--user", "ada"], |rows| rows.len() >= 7);
    let search = only_row(&rows, "knowledge.search");
    for (field, value) in [
        ("user", json!("ada")),
        ("key", json!(key_id(&key))),
        ("client", json!("test")),
        ("transport", json!("http")),
        ("address", json!("127.0.0.1")),
        ("method", json!("tools/call")),
        ("sources", json!(["notes"])),
        ("items", json!([uri])),
        ("outcome", json!("ok")),
    ] {
        assert_eq!(search[field], value, "{field}: {search}");
    }
    assert!(search["bytes"].as_u64().unwrap() > 100 && search["ms"].as_f64().unwrap() > 0.0);
    assert_eq!(only_row(&rows, "notes.get")["outcome"], "tool_error");
    assert_eq!(only_row(&rows, "notes.create")["outcome"], "denied");
    let reads: Vec<_> = rows.iter().filter(|row| row["method"] == "resources/read").collect();
    assert_eq!((&reads[0]["items"], &reads[0]["outcome"]), (&json!([uri]), &json!("ok")));
    assert_eq!((&reads[1]["outcome"], &reads[1]["code"]), (&json!("error"), &json!(-32_002)));
}

#[test]
fn session_belongs_to_key_that_opened_it() {
    let library = two_libraries();
    let (one, other) = (library.create_key("ada"), library.create_key("ada"));
    let server = library.serve_multi_user("");
    let session = server.client().with_bearer_token(&one).initialize_session();
    let stranger = server.client().with_bearer_token(&other).in_session(session.session_id());
    assert_eq!([session.ping().status, stranger.ping().status], [200, 404]);
}

#[test]
fn changed_items_prompts_completions_subscriptions_are_audited() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[tools]\nwrite = true");
    let client = server.open_session();
    let created =
        client.call_tool("notes.create", &json!({ "title": "Opal", "content": "An opal." }));
    let uri = created["uri"].as_str().unwrap();
    client.call_method("resources/subscribe", &json!({ "uri": uri }));
    client.call_method("resources/unsubscribe", &json!({ "uri": uri }));
    let prompts = client.call_method("prompts/list", &json!({}));
    // The prompts of the library follow the built-in ones.
    let name = &prompts["prompts"].as_array().unwrap().last().unwrap()["name"];
    client.call_method("prompts/get", &json!({ "name": name, "arguments": {} }));
    client.call_method(
        "completion/complete",
        &json!({
            "ref": { "type": "ref/resource", "uri": "notes://{id}" },
            "argument": { "name": "id", "value": "" },
        }),
    );
    let rows = wait_for_rows(&library, &[], |rows| {
        rows.iter().any(|row| row["method"] == "completion/complete")
    });
    assert_eq!(only_row(&rows, "notes.create")["items"], json!([uri]));
    assert_eq!(only_row(&rows, "resources/subscribe")["items"], json!([uri]));
    assert_eq!(only_row(&rows, "resources/unsubscribe")["items"], json!([uri]));
    assert_eq!(only_row(&rows, "prompts/get")["sources"], json!(["prompts"]));
    assert_eq!(only_row(&rows, "completion/complete")["user"], "local");
    // A request that shows nothing of a library is not audited.
    assert!(rows.iter().all(|row| row["method"] != "ping" && row["method"] != "tools/list"));
}

#[test]
fn socket_and_pipe_calls_are_audited() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let query = json!({ "query": "lantern" });
    server.open_websocket().call_tool("knowledge.search", &query);
    let pipe = library.open_stdio();
    pipe.call_tool("notes.search", &query);
    assert_eq!(pipe.close_input().1, Some(0));
    let rows = wait_for_rows(&library, &[], |rows| {
        rows.iter().filter(|row| row["method"] == "tools/call").count() >= 2
    });
    let search = only_row(&rows, "knowledge.search");
    let from = (&search["transport"], &search["address"]);
    assert_eq!(from, (&json!("websocket"), &json!("127.0.0.1")));
    let search = only_row(&rows, "notes.search");
    assert_eq!((&search["transport"], &search["address"]), (&json!("stdio"), &Value::Null));
}

#[test]
fn failed_login_is_audited_and_logged_with_address() {
    let library = two_libraries();
    let key = library.create_key("ada");
    let server = library.serve_multi_user("trusted_proxies = [\"127.0.0.1\"]");
    let (begin, last) = key.split_at(key.len() - 1);
    let altered = format!("{begin}{}", if last == "A" { "B" } else { "A" });
    let client = server.client().with_header("x-forwarded-for", "203.0.113.9");
    assert_eq!(client.clone().with_bearer_token(&altered).ping().status, 401);
    let upgrade = server.request("GET", "/mcp/ws").upgrade().header("x-api-key", "unknown");
    assert_eq!(upgrade.send().status, 401);
    // A client that sends no credential only asks which one is needed.
    assert_eq!(client.ping().status, 401);
    let rows = wait_for_rows(&library, &["--tool", "login"], |rows| rows.len() == 2);
    let [login, upgrade] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        (&upgrade["transport"], &upgrade["address"]),
        (&json!("websocket"), &json!("127.0.0.1"))
    );
    for (field, value) in [
        ("address", json!("203.0.113.9")),
        ("key", json!(key_id(&key))),
        ("outcome", json!("denied")),
        ("reason", json!("invalid")),
        ("user", Value::Null),
    ] {
        assert_eq!(login[field], value, "{field}: {login}");
    }
    let log = server.kill_and_read_log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("login failed")).collect();
    let [line, _] = lines[..] else { panic!("{log}") };
    // The filter in docs/audit.md depends on this form.
    assert!(line.ends_with("login failed address=203.0.113.9 reason=\"invalid\""), "{line}");
    assert!(line.contains(" WARN ") && !log.contains(&altered), "{log}");
}

#[test]
fn flood_of_failed_logins_adds_few_rows() {
    let library = two_libraries();
    library.create_key("ada");
    let server = library.serve_multi_user("free_attempts = 1000");
    let unknown = format!("vdm_0123456789abcdef_{}", "A".repeat(43));
    let client = server.client().with_bearer_token(&unknown);
    for _ in 0..100 {
        assert_eq!(client.ping().status, 401);
    }
    let count = |rows: &[Value]| rows.iter().filter_map(|row| row["count"].as_u64()).sum::<u64>();
    let rows = wait_for_rows(&library, &["--tool", "login"], |rows| count(rows) == 100);
    assert!(rows.len() < 50, "{}", rows.len());
}

#[test]
fn administrative_commands_are_audited() {
    let library = Library::new();
    let key = library.create_key("ada");
    assert_eq!(library.run(&["key", "revoke", key_id(&key)]).code, 0);
    assert_eq!(library.run(&["user", "add", "ada"]).code, 1);
    assert_eq!(library.run(&["key", "rotate", key_id(&key)]).code, 1);
    for command in ["suspend", "resume"] {
        assert_eq!(library.run(&["user", command, "ada"]).code, 0);
    }
    assert_eq!(library.run(&["user", "remove", "ada", "--yes"]).code, 0);
    let rows = wait_for_rows(&library, &[], |_| true);
    let seen: Vec<[&str; 4]> = rows
        .iter()
        .map(|row| {
            ["method", "user", "key", "outcome"].map(|field| row[field].as_str().unwrap_or("-"))
        })
        .collect();
    assert_eq!(
        seen,
        [
            ["user.add", "ada", "-", "ok"],
            ["key.create", "ada", key_id(&key), "ok"],
            ["key.revoke", "ada", key_id(&key), "ok"],
            ["user.add", "ada", "-", "error"],
            ["key.rotate", "ada", key_id(&key), "error"],
            ["user.suspend", "ada", "-", "ok"],
            ["user.resume", "ada", "-", "ok"],
            ["user.remove", "ada", "-", "ok"],
        ]
    );
    assert!(rows.iter().all(|row| row["transport"] == "cli"), "{rows:?}");
}

#[test]
fn audit_log_holds_no_queries_or_contents_by_default() {
    for (settings, expected) in [("", false), ("[audit]\nqueries = true", true)] {
        let library = Library::with_notes([("one", "# telltaletitle\n\nA telltalecontent.")]);
        let server = library.serve_with_settings(&format!("[tools]\nwrite = true\n{settings}"));
        let client = server.client();
        let found = client.call_tool("knowledge.search", &json!({ "query": "telltalecontent" }));
        assert_eq!(found["results"].as_array().unwrap().len(), 1);
        client.call_tool("notes.create", &json!({ "title": "telltale", "content": "telltale" }));
        client.expect_error("telltalemethod", &json!({ "telltale": 1 }));
        client.expect_error("tools/call", &json!({ "name": "telltaletool", "arguments": {} }));
        let rows = wait_for_rows(&library, &[], |rows| rows.len() >= 3);
        let text = serde_json::to_string(&rows).unwrap();
        assert_eq!(text.contains("telltale"), expected, "{text}");
        // The notes on disk may hold these words, the log's file may not.
        drop(server);
        let mut stored = std::fs::read(library.data_folder().join("audit.db")).unwrap();
        stored
            .extend(std::fs::read(library.data_folder().join("audit.db-wal")).unwrap_or_default());
        let is_stored = stored.windows(8).any(|bytes| bytes == b"telltale");
        assert_eq!(is_stored, expected);
    }
}

#[test]
fn audit_command_filters_and_prints_newest_last() {
    let library = two_libraries();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    for key in [&ada, &eve, &ada] {
        let client = server.client().with_bearer_token(key);
        client.call_tool("knowledge.search", &json!({ "query": "gem" }));
        client.tool_result("notes.get", &json!({ "note_id": "1" }));
    }
    let calls = |rows: &[Value]| rows.iter().filter(|row| row["method"] == "tools/call").count();
    wait_for_rows(&library, &[], |rows| calls(rows) == 6);
    let count = |arguments: &[&str]| calls(&wait_for_rows(&library, arguments, |_| true));
    assert_eq!(count(&["--user", "ada"]), 4);
    assert_eq!(count(&["--user", "eve", "--tool", "notes.get"]), 1);
    assert_eq!(count(&["--tool", "tools/call"]), 6);
    assert_eq!((count(&["--since", "1h"]), count(&["--since", "2020-01-31"])), (6, 6));
    assert_eq!((count(&["--since", "9000-01-01"]), count(&["--user", "mallory"])), (0, 0));
    let text = library.run(&["audit", "--since", "1d"]).stdout;
    let times: Vec<&str> = text.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert!(times.len() >= 10 && times.is_sorted(), "{text}");
    assert_eq!(text.lines().last().unwrap().split('\t').nth(5), Some("notes.get"), "{text}");
    assert_eq!(library.run(&["audit", "--since", "yesterday"]).code, 2);
    let none = library.run(&["audit", "--tool", "notes.delete"]);
    assert!(none.stdout.is_empty() && none.stderr.contains("no matching entry"), "{none:?}");
}

#[test]
fn audit_output_is_sanitized() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let client = server.open_session_named("evil\u{1b}]52;c;AAAA\u{7}\u{9b}2J\tname\nrow\u{202e}");
    client.call_tool("knowledge.search", &json!({ "query": "lantern" }));
    wait_for_rows(&library, &["--tool", "knowledge.search"], |rows| rows.len() == 1);
    for arguments in [&["audit"][..], &["audit", "--json"]] {
        let text = library.run(arguments).stdout;
        assert!(text.contains("evil"), "{text:?}");
        let is_harmful = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        assert!(!text.contains(is_harmful) && !text.contains('\u{202e}'), "{text:?}");
    }
    let text = library.run(&["audit", "--tool", "knowledge.search"]).stdout;
    assert_eq!((text.lines().count(), text.split('\t').count()), (1, 10), "{text:?}");
}

#[test]
fn disabled_audit_log_is_not_written() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[audit]\nenabled = false");
    server.client().call_tool("knowledge.search", &json!({ "query": "lantern" }));
    let metrics = server.request("GET", "/metrics").send().body;
    assert!(!metrics.contains("vademecum_audit"), "{metrics}");
    assert!(!library.data_folder().join("audit.db").exists());
    let done = library.run(&["audit"]);
    assert!(done.code == 0 && done.stderr.contains("no audit log yet"), "{done:?}");
    drop(server);
    let server = library.serve();
    let metrics = server.request("GET", "/metrics").send().body;
    assert!(metrics.contains("vademecum_audit_entries_lost_total 0"), "{metrics}");
}

#[cfg(unix)]
#[test]
fn audit_file_is_private_in_premade_folder() {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    let library = Library::new();
    fs::create_dir_all(library.data_folder()).unwrap();
    fs::set_permissions(library.data_folder(), fs::Permissions::from_mode(0o755)).unwrap();
    library.create_key("ada");
    let about = fs::metadata(library.data_folder().join("audit.db")).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}
