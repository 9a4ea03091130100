//! Whoever writes at the same time, and whatever is imported again: nothing that
//! was written is lost.

use std::{fs, io::Read};

use serde_json::{Value, json};

use crate::{
    program::{Caller, Library, Server, request},
    writing::{ON, create, found, read},
};

#[test]
fn a_stale_version_is_refused_with_the_present_one_and_what_to_do() {
    let server = Library::new().serve_set(ON);
    let client = server.client();
    let note = create(&client, "Mooring", "Ropes.");
    client.call("notes.append", &json!({ "note_id": note["id"], "content": "Knots." }));
    for version in [1, 3] {
        let said = client.refuses(
            "notes.update",
            &json!({ "note_id": note["id"], "version": version, "content": "Chains." }),
        );
        let wanted = format!("at version 2, not {version}");
        assert!(said.contains(&wanted) && said.contains("read it again"), "{said}");
        let said =
            client.refuses("notes.delete", &json!({ "note_id": note["id"], "version": version }));
        assert!(said.contains(&wanted), "{said}");
    }
    assert_eq!(read(&client, &note["id"]), ("Ropes.\nKnots.".to_owned(), 2));
    let text = client.text("notes.get", &json!({ "note_id": note["id"] }));
    assert!(text.contains("version 2"), "who reads only the text learns it too: {text}");
    client.call("notes.delete", &json!({ "note_id": note["id"] }));
}

/// Sends calls of tools at the same time, and reads what each comes back as.
fn at_once(server: &Server, calls: &[(&str, Value)]) -> Vec<Value> {
    let begun: Vec<_> = calls
        .iter()
        .map(|(tool, arguments)| {
            let call = request("tools/call", &json!({ "name": tool, "arguments": arguments }));
            server.request("POST", "/mcp").json(&call).begin()
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
fn of_two_updates_at_once_one_wins_and_the_other_is_told() {
    let server = Library::new().serve_set(ON);
    let client = server.client();
    for round in 0..10 {
        let note = create(&client, "Mooring", "Ropes.");
        let update = |content: &str| {
            let arguments = json!({ "note_id": note["id"], "version": 1, "content": content });
            ("notes.update", arguments)
        };
        let contents = ["Chains.", "Cables."];
        let answers = at_once(&server, &contents.map(update));
        let won: Vec<usize> = (0..2).filter(|at| answers[*at]["isError"] == false).collect();
        assert_eq!(won.len(), 1, "{round}: {answers:?}");
        let told = answers[1 - won[0]]["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("at version 2, not 1"), "{told}");
        assert_eq!(read(&client, &note["id"]), (contents[won[0]].to_owned(), 2));
    }
}

#[test]
fn a_hundred_additions_at_once_to_one_note_lose_nothing() {
    let library = Library::new();
    // As patient as a slow disk needs it.
    let server = library.serve_set(&format!("{ON}\n[limits]\nsource_ms = 60000"));
    let settings = library.file("settings.toml");
    let pipe = library.pipe_with(&["--config", settings.to_str().unwrap()]);
    let note = create(&pipe, "Log", "Begin.");
    let line =
        |number: usize| json!({ "note_id": note["id"], "content": format!("line {number}") });
    // Another process writes at the same time.
    for number in 0..50 {
        let call = json!({ "name": "notes.append", "arguments": line(number) });
        pipe.write(&request("tools/call", &call).to_string());
    }
    let calls: Vec<_> = (50..100).map(|number| ("notes.append", line(number))).collect();
    let mut answers = at_once(&server, &calls);
    answers.extend((0..50).map(|_| pipe.read()["result"].take()));
    let mut versions: Vec<i64> = answers
        .iter()
        .map(|answer| answer["structuredContent"]["version"].as_i64().expect("a version"))
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..=101).collect::<Vec<_>>(), "each made a version of its own");
    let (content, version) = read(&server.client(), &note["id"]);
    let mut lines: Vec<&str> = content.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
    expected.push("Begin.".to_owned());
    expected.sort_unstable();
    assert_eq!((lines, version), (expected.iter().map(String::as_str).collect(), 101));
}

#[test]
fn who_subscribed_to_a_note_hears_of_each_change() {
    let library = Library::new();
    let server = library.serve_set(ON);
    let session = server.session();
    let note = create(&session, "Mooring", "Ropes.");
    let mut news = session.listen();
    session.ask("resources/subscribe", &json!({ "uri": note["uri"] }));
    let mut heard = |caller: &dyn Fn()| {
        caller();
        let message = news.message();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        assert_eq!(message["params"]["uri"], note["uri"]);
    };
    let (client, socket) = (server.client(), server.socket());
    let append = json!({ "note_id": note["id"], "content": "Knots." });
    heard(&|| drop(client.call("notes.append", &append)));
    let update = json!({ "note_id": note["id"], "version": 2, "content": "Chains." });
    heard(&|| drop(socket.call("notes.update", &update)));
    heard(&|| drop(client.call("notes.delete", &json!({ "note_id": note["id"] }))));
}

/// Imports a file of notes; how many were new, updated, unchanged, and what was
/// said of those that were left alone.
fn import(library: &Library, file: &str) -> ([u64; 3], Vec<String>) {
    let done = library.run(&["import", "notes", library.file(file).to_str().unwrap(), "--json"]);
    let summary = done.json();
    let skipped = summary["skipped"].as_array().unwrap().iter();
    let reasons = skipped.map(|it| it["reason"].as_str().unwrap().to_owned());
    (["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap()), reasons.collect())
}

#[test]
fn what_was_changed_here_is_not_overwritten_by_its_file() {
    let library = Library::new();
    for name in ["edited", "tagged", "deleted", "left"] {
        library.write(&format!("notes/{name}.md"), format!("# {name}\nA bight."));
    }
    assert_eq!(import(&library, "notes"), ([4, 0, 0], vec![]));
    let server = library.serve_set(ON);
    let client = server.client();
    let uri = |name: &str| client.uris("notes.search", &json!({ "query": name })).remove(0);
    let [edited, tagged, deleted] = ["edited", "tagged", "deleted"].map(uri);
    client.call("notes.append", &json!({ "note_id": edited, "content": "A hitch." }));
    client.call("knowledge.tag", &json!({ "uri": tagged, "add": ["rope"] }));
    client.call("notes.delete", &json!({ "note_id": deleted }));
    assert_eq!(import(&library, "notes"), ([0, 0, 4], vec![]), "the files are as they were");
    assert_eq!(found(&client, "bight").len(), 3);
    for name in ["edited", "tagged", "deleted", "left"] {
        library.write(&format!("notes/{name}.md"), format!("# {name}\nA sheet bend."));
    }
    let (counts, reasons) = import(&library, "notes");
    assert_eq!((counts, reasons.len()), ([0, 1, 0], 3), "{reasons:?}");
    for uri in [&edited, &tagged, &deleted] {
        let said = format!("`{uri}` was changed in the library since it was imported");
        assert!(reasons.iter().any(|reason| reason.contains(&said)), "{reasons:?}");
    }
    assert_eq!((found(&client, "hitch"), found(&client, "rope")), (vec![edited], vec![tagged]));
    assert_eq!((found(&client, "bight").len(), found(&client, "sheet bend").len()), (2, 1));
    let kept = fs::read_to_string(library.file("notes/edited.md")).unwrap();
    assert!(kept.contains("sheet bend"), "no file is changed: {kept}");
}
