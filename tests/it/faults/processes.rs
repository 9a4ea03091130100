//! Many programs on one data folder, as desktops have them: a server, clients that
//! each start a program of their own, an importer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::is_sound;
use crate::{
    support::{Library, McpClient, StdioClient, vademecum_command},
    writing::{WRITE_ENABLED, create_note},
};

/// Programs that clients have started.
const CLIENTS: usize = 8;
/// Notes that each of them writes.
const NOTES: usize = 8;

fn call(id: &str, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// The notes that have a word, as somebody finds them.
fn all(caller: &impl McpClient, word: &str) -> BTreeSet<String> {
    caller
        .search_uris("notes.search", &json!({ "query": word, "limit": 100 }))
        .into_iter()
        .collect()
}

/// Asks all pipes something at once, and reads what each answers.
fn ask_all(pipes: &[StdioClient], requests: impl Fn(usize) -> Vec<String>) -> Vec<Value> {
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
fn a_server_eight_clients_and_an_importer_share_a_folder() {
    let library = Library::new();
    for number in 0..600 {
        library.write_file(&format!("many/{number}.md"), format!("# Part {number}\nA thimble."));
    }
    // As patient as a slow disk with ten writers needs it.
    let server =
        library.serve_with_settings(&format!("{WRITE_ENABLED}\n[limits]\nsource_ms = 60000"));
    let settings = library.file_path("settings.toml");
    let pipes: Vec<StdioClient> = (0..CLIENTS)
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
    for round in 0..NOTES {
        let answers = ask_all(&pipes, |client| {
            let title = format!("w{round}x{client}");
            let note = json!({ "title": title, "content": "A lantern." });
            let search = json!({ "query": "thimble lantern", "limit": 3 });
            vec![call("write", "notes.create", &note), call("search", "knowledge.search", &search)]
        });
        let made = answers.iter().filter(|answer| answer["id"] == "write");
        written.extend(
            made.map(|it| it["result"]["structuredContent"]["uri"].as_str().unwrap().to_owned()),
        );
        let note = create_note(&server.client(), &format!("s{round}"), "A lantern.");
        written.insert(note["uri"].as_str().unwrap().to_owned());
        // What one has written is found by the next call of every other.
        for (client, pipe) in pipes.iter().enumerate() {
            let word = format!("w{round}x{}", (client + 1) % CLIENTS);
            assert_eq!(all(pipe, &word).len(), 1, "{word} by {client}");
        }
        assert_eq!(all(&pipes[round], &format!("s{round}")).len(), 1);
        assert_eq!(all(&server.client(), &format!("w{round}x0")).len(), 1);
    }
    let imported = importer.wait_with_output().unwrap();
    assert!(imported.status.success(), "{imported:?}");
    assert_eq!(written.len(), (CLIENTS + 1) * NOTES);
    for pipe in &pipes {
        assert_eq!(all(pipe, "lantern"), written);
        let found = pipe.call_tool("notes.search", &json!({ "query": "thimble" }));
        assert_eq!(found["total_estimated"], 600);
    }
    assert_eq!(all(&server.client(), "lantern"), written);
    is_sound(&library.run(&["check"]));
    let mut logs: Vec<String> = pipes.into_iter().map(StdioClient::close_and_read_log).collect();
    logs.push(server.kill_and_read_log());
    logs.push(String::from_utf8(imported.stderr).unwrap());
    for log in logs {
        assert!(!log.contains("locked") && !log.contains("busy"), "{log}");
    }
}
