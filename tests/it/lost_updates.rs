//! Concurrent writes and repeated imports lose no update.

use std::{fs, io::Read};

use serde_json::{Value, json};

use crate::{
    support::{Library, McpClient, Server, json_rpc_request},
    writing::{WRITE_ENABLED, create_note, read_note, search_uris},
};

#[test]
fn stale_version_error_names_current_version() {
    let server = Library::new().serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = create_note(&client, "Mooring", "Ropes.");
    client.call_tool("notes.append", &json!({ "note_id": note["id"], "content": "Knots." }));
    for version in [1, 3] {
        let error = client.expect_tool_error(
            "notes.update",
            &json!({ "note_id": note["id"], "version": version, "content": "Chains." }),
        );
        let expected = format!("at version 2, not {version}");
        assert!(error.contains(&expected) && error.contains("read it again"), "{error}");
        let error = client.expect_tool_error(
            "notes.delete",
            &json!({ "note_id": note["id"], "version": version }),
        );
        assert!(error.contains(&expected), "{error}");
    }
    assert_eq!(read_note(&client, &note["id"]), ("Ropes.\nKnots.".to_owned(), 2));
    let text = client.call_tool_text("notes.get", &json!({ "note_id": note["id"] }));
    assert!(text.contains("version 2"), "the text also names the version: {text}");
    client.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
}

/// Sends tool calls concurrently and returns the results in the order of the calls.
fn call_concurrently(server: &Server, calls: &[(&str, Value)]) -> Vec<Value> {
    let begun: Vec<_> = calls
        .iter()
        .map(|(tool, arguments)| {
            let call =
                json_rpc_request("tools/call", &json!({ "name": tool, "arguments": arguments }));
            server.request("POST", "/mcp").json(&call).send_unread()
        })
        .collect();
    let answers = begun.into_iter().map(|mut stream| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        serde_json::from_str::<Value>(body).unwrap()["result"].take()
    });
    answers.collect()
}

#[test]
fn concurrent_updates_accept_one_and_reject_other() {
    let server = Library::new().serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    for round in 0..10 {
        let note = create_note(&client, "Mooring", "Ropes.");
        let update = |content: &str| {
            let arguments = json!({ "note_id": note["id"], "version": 1, "content": content });
            ("notes.update", arguments)
        };
        let contents = ["Chains.", "Cables."];
        let answers = call_concurrently(&server, &contents.map(update));
        let won: Vec<usize> = (0..2).filter(|at| answers[*at]["isError"] == false).collect();
        assert_eq!(won.len(), 1, "{round}: {answers:?}");
        let error = answers[1 - won[0]]["content"][0]["text"].as_str().unwrap();
        assert!(error.contains("at version 2, not 1"), "{error}");
        assert_eq!(read_note(&client, &note["id"]), (contents[won[0]].to_owned(), 2));
    }
}

#[test]
fn concurrent_appends_are_all_kept() {
    let library = Library::new();
    // A long timeout, for slow disks.
    let server =
        library.serve_with_settings(&format!("{WRITE_ENABLED}\n[limits]\nsource_ms = 60000"));
    let settings = library.file_path("settings.toml");
    let pipe = library.open_stdio_with(&["--alone", "--config", settings.to_str().unwrap()]);
    let note = create_note(&pipe, "Log", "Begin.");
    let line =
        |number: usize| json!({ "note_id": note["id"], "content": format!("line {number}") });
    // A second process writes at the same time.
    for number in 0..50 {
        let call = json!({ "name": "notes.append", "arguments": line(number) });
        pipe.write_line(&json_rpc_request("tools/call", &call).to_string());
    }
    let calls: Vec<_> = (50..100).map(|number| ("notes.append", line(number))).collect();
    let mut answers = call_concurrently(&server, &calls);
    answers.extend((0..50).map(|_| pipe.read_message()["result"].take()));
    let mut versions: Vec<i64> = answers
        .iter()
        .map(|answer| answer["structuredContent"]["version"].as_i64().expect("a version"))
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..=101).collect::<Vec<_>>(), "each append created its own version");
    let (content, version) = read_note(&server.client(), &note["id"]);
    let mut lines: Vec<&str> = content.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
    expected.push("Begin.".to_owned());
    expected.sort_unstable();
    assert_eq!((lines, version), (expected.iter().map(String::as_str).collect(), 101));
}

#[test]
fn note_subscriber_is_notified_of_each_change() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let session = server.open_session();
    let note = create_note(&session, "Mooring", "Ropes.");
    let mut news = session.open_notification_stream();
    session.call_method("resources/subscribe", &json!({ "uri": note["uri"] }));
    let mut heard = |caller: &dyn Fn()| {
        caller();
        let message = news.expect_message();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        assert_eq!(message["params"]["uri"], note["uri"]);
    };
    let (client, socket) = (server.client(), server.open_websocket());
    let append = json!({ "note_id": note["id"], "content": "Knots." });
    heard(&|| drop(client.call_tool("notes.append", &append)));
    let update = json!({ "note_id": note["id"], "version": 2, "content": "Chains." });
    heard(&|| drop(socket.call_tool("notes.update", &update)));
    heard(&|| drop(client.call_tool("notes.delete", &json!({ "note_id": note["id"] }))));
}

/// Imports notes. Returns the numbers of new, updated and unchanged items, and the reasons for
/// skipped ones.
fn import_notes(library: &Library, file: &str) -> ([u64; 3], Vec<String>) {
    let done =
        library.run(&["import", "notes", library.file_path(file).to_str().unwrap(), "--json"]);
    let summary = done.parse_json();
    let skipped = summary["skipped"].as_array().unwrap().iter();
    let reasons = skipped.map(|it| it["reason"].as_str().unwrap().to_owned());
    (["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap()), reasons.collect())
}

#[test]
fn change_in_library_outlives_edited_file() {
    let library = Library::new();
    for name in ["edited", "tagged", "deleted", "left"] {
        library.write_file(&format!("notes/{name}.md"), format!("# {name}\nA bight."));
    }
    assert_eq!(import_notes(&library, "notes"), ([4, 0, 0], vec![]));
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let uri = |name: &str| client.search_uris("notes.search", &json!({ "query": name })).remove(0);
    let [edited, tagged, deleted] = ["edited", "tagged", "deleted"].map(uri);
    client.call_tool("notes.append", &json!({ "note_id": edited, "content": "A hitch." }));
    client.call_tool("knowledge.tag", &json!({ "uri": tagged, "add": ["rope"] }));
    client.call_tool("notes.delete", &json!({ "note_id": deleted }));
    assert_eq!(import_notes(&library, "notes"), ([0, 0, 4], vec![]), "the files have not changed");
    assert_eq!(search_uris(&client, "bight").len(), 3);
    for name in ["edited", "tagged", "deleted", "left"] {
        library.write_file(&format!("notes/{name}.md"), format!("# {name}\nA sheet bend."));
    }
    assert_eq!(import_notes(&library, "notes"), ([0, 4, 0], vec![]));
    assert_eq!(
        (search_uris(&client, "hitch"), search_uris(&client, "rope")),
        (vec![edited.clone()], vec![tagged])
    );
    let found = search_uris(&client, "sheet bend");
    assert!(found.len() == 4 && found.contains(&edited) && found.contains(&deleted), "{found:?}");
    let kept = fs::read_to_string(library.file_path("notes/edited.md")).unwrap();
    assert!(kept.contains("sheet bend"), "the source file is not modified: {kept}");
}
