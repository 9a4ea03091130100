//! Fault tests of several processes on one data folder, as on a desktop: a server, clients that
//! each start their own process, and an importer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::assert_healthy;
use crate::{
    support::{Library, McpClient, StdioClient, vademecum_command},
    writing::{WRITE_ENABLED, create_note},
};

/// Number of client processes.
const CLIENT_COUNT: usize = 8;
/// Number of notes that each client process writes.
const NOTES_PER_CLIENT: usize = 8;

fn call_message(id: &str, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// Returns the URIs of all notes that match a word.
fn matching_notes(caller: &impl McpClient, word: &str) -> BTreeSet<String> {
    caller
        .search_uris("notes.search", &json!({ "query": word, "limit": 100 }))
        .into_iter()
        .collect()
}

/// Sends several requests to each pipe at once and returns all replies, which must be successful.
fn request_all(pipes: &[StdioClient], requests: impl Fn(usize) -> Vec<String>) -> Vec<Value> {
    let mut expected = Vec::new();
    for (client, pipe) in pipes.iter().enumerate() {
        let requests = requests(client);
        for request in &requests {
            pipe.write_line(request);
        }
        expected.push(requests.len());
    }
    let mut answers = Vec::new();
    for (pipe, count) in pipes.iter().zip(expected) {
        answers.extend((0..count).map(|_| pipe.read_message()));
    }
    for answer in &answers {
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert_eq!(answer["result"]["_meta"].get("failed_sources"), None, "{answer}");
    }
    answers
}

#[test]
fn folder_is_shared_by_server_clients_and_importer() {
    let library = Library::new();
    for number in 0..600 {
        library.write_file(&format!("many/{number}.md"), format!("# Part {number}\nA thimble."));
    }
    // Timeouts are long enough for ten writers on a slow disk.
    let server =
        library.serve_with_settings(&format!("{WRITE_ENABLED}\n[limits]\nsource_ms = 60000"));
    let settings = library.file_path("settings.toml");
    let pipes: Vec<StdioClient> = (0..CLIENT_COUNT)
        .map(|_| library.open_stdio_with(&["--config", settings.to_str().unwrap()]))
        .collect();
    let importer = vademecum_command()
        .args(["import", "notes"])
        .arg(library.file_path("many"))
        .arg("--data")
        .arg(library.data_folder())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut written = BTreeSet::new();
    for round in 0..NOTES_PER_CLIENT {
        let answers = request_all(&pipes, |client| {
            let title = format!("w{round}x{client}");
            let note = json!({ "title": title, "content": "A lantern." });
            let search = json!({ "query": "thimble lantern", "limit": 3 });
            vec![
                call_message("write", "notes.create", &note),
                call_message("search", "knowledge.search", &search),
            ]
        });
        let made = answers.iter().filter(|answer| answer["id"] == "write");
        written.extend(
            made.map(|it| it["result"]["structuredContent"]["uri"].as_str().unwrap().to_owned()),
        );
        let note = create_note(&server.client(), &format!("s{round}"), "A lantern.");
        written.insert(note["uri"].as_str().unwrap().to_owned());
        // A write by one process is visible to the next call of every other process.
        for (client, pipe) in pipes.iter().enumerate() {
            let word = format!("w{round}x{}", (client + 1) % CLIENT_COUNT);
            assert_eq!(matching_notes(pipe, &word).len(), 1, "{word} by {client}");
        }
        assert_eq!(matching_notes(&pipes[round], &format!("s{round}")).len(), 1);
        assert_eq!(matching_notes(&server.client(), &format!("w{round}x0")).len(), 1);
    }
    let imported = importer.wait_with_output().unwrap();
    assert!(imported.status.success(), "{imported:?}");
    assert_eq!(written.len(), (CLIENT_COUNT + 1) * NOTES_PER_CLIENT);
    for pipe in &pipes {
        assert_eq!(matching_notes(pipe, "lantern"), written);
        let found = pipe.call_tool("notes.search", &json!({ "query": "thimble" }));
        assert_eq!(found["total_estimated"], 600);
    }
    assert_eq!(matching_notes(&server.client(), "lantern"), written);
    assert_healthy(&library.run(&["check"]));
    let mut logs: Vec<String> = pipes.into_iter().map(StdioClient::close_and_read_log).collect();
    logs.push(server.kill_and_read_log());
    logs.push(String::from_utf8(imported.stderr).unwrap());
    for log in logs {
        assert!(!log.contains("locked") && !log.contains("busy"), "{log}");
    }
}
