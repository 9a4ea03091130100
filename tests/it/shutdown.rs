//! End-to-end tests of shutdown: running work completes or is discarded, never half done, and the
//! write-ahead logs are checkpointed.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::{Value, json};

use crate::support::{
    EventStream, Library, McpClient, ReceivedFrame, Server, WebSocketClient, json_rpc_request,
    terminate,
};

/// Number of sources that reply to a search of an endless library. The fifth never replies.
const ANSWERING_SOURCES: usize = 4;

fn search_request(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": id },
    }})
}

/// Returns the names and sizes in bytes of the non-empty write-ahead logs of the local user.
fn wal_files(library: &Library) -> Vec<(String, u64)> {
    let folder = fs::read_dir(library.data_folder().join("users/local")).unwrap();
    let files = folder.map(|entry| entry.unwrap());
    let logs = files.filter(|file| file.file_name().to_string_lossy().ends_with("-wal"));
    let sizes = logs.map(|file| {
        (file.file_name().to_string_lossy().into_owned(), file.metadata().unwrap().len())
    });
    sizes.filter(|(_, size)| *size > 0).collect()
}

/// Starts a server and terminates it during two searches: request 7 over HTTP, request 8 over a
/// WebSocket.
fn terminate_during_search(
    library: &Library,
    settings: &str,
) -> (Server, EventStream, WebSocketClient) {
    let server = library.serve_with_settings(settings);
    let mut events = server.client().stream(&search_request(7));
    let socket = server.open_websocket();
    socket.send_message(&search_request(8));
    for _ in 0..ANSWERING_SOURCES {
        assert_eq!(events.expect_message()["method"], "notifications/progress");
        assert_eq!(socket.read_message()["params"]["progressToken"], 8);
    }
    terminate(server.process());
    (server, events, socket)
}

#[test]
fn endless_search_is_aborted_after_grace_period() {
    let library = Library::with_endless_prompts();
    let settings = "[server]\ngrace_seconds = 1\n[limits]\nsource_ms = 3600000";
    let (mut server, _events, _socket) = terminate_during_search(&library, settings);
    assert_eq!(server.wait_for_exit(), Some(0));
    assert_eq!(wal_files(&library), []);
}

#[test]
fn search_within_grace_period_is_answered() {
    let library = Library::with_endless_prompts();
    let settings = "[server]\ngrace_seconds = 20\n[limits]\nsource_ms = 1500";
    let (mut server, events, socket) = terminate_during_search(&library, settings);
    let last = events.remaining_messages().pop().unwrap();
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(7), &json!(false)), "{last}");
    loop {
        let message = socket.read_message();
        if message["id"] == 8 {
            assert_eq!(message["result"]["isError"], false, "{message}");
            break;
        }
    }
    assert!(matches!(socket.read_frame(), ReceivedFrame::Closed(Some(_))));
    assert_eq!(server.wait_for_exit(), Some(0));
}

#[test]
fn acknowledged_writes_survive_shutdown_completely() {
    let library = Library::new();
    let mut server = library.serve_with_settings("[tools]\nwrite = true");
    let process = server.process();
    let acknowledged = AtomicUsize::new(0);
    let address = server.address().to_owned();
    let titles: Vec<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (address, acknowledged) = (address.as_str(), &acknowledged);
                scope.spawn(move || {
                    let mut titles = Vec::new();
                    for number in 0.. {
                        let title = format!("amethyst {writer} {number}");
                        if !create_note(address, &title) {
                            break;
                        }
                        titles.push(title);
                        // The server is terminated while the writers are busy.
                        if acknowledged.fetch_add(1, Ordering::Relaxed) == 20 {
                            terminate(process);
                        }
                    }
                    titles
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(server.wait_for_exit(), Some(0));
    assert_eq!(wal_files(&library), []);
    let server = library.serve();
    let mut offset = json!(0);
    let mut found = Vec::new();
    while !offset.is_null() {
        let page = json!({ "query": "amethyst", "limit": 100, "offset": offset });
        let page = server.client().call_tool("notes.search", &page);
        let hits = page["results"].as_array().unwrap().iter();
        found.extend(hits.map(|hit| hit["title"].as_str().unwrap().to_owned()));
        offset = page["next_offset"].clone();
    }
    for title in &titles {
        assert!(found.contains(title), "{title} was acknowledged");
    }
    // Each of the four writers may have one note that was committed but not acknowledged.
    assert!(found.len() <= titles.len() + 4, "{} {}", found.len(), titles.len());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

/// Creates a note. Returns `true` if the server acknowledged it.
fn create_note(address: &str, title: &str) -> bool {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
    };
    let arguments = json!({ "title": title, "content": "An amethyst in a drawer." });
    let body =
        json_rpc_request("tools/call", &json!({ "name": "notes.create", "arguments": arguments }));
    let body = body.to_string();
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    let mut answer = String::new();
    sent.and_then(|()| stream.read_to_string(&mut answer)).is_ok()
        && answer.contains("\"isError\":false")
}

#[test]
fn second_signal_exits_immediately() {
    let library = Library::with_endless_prompts();
    let settings = "[server]\ngrace_seconds = 3600\n[limits]\nsource_ms = 3600000";
    let mut server = library.serve_with_settings(settings);
    let session = server.open_session();
    let news = session.open_notification_stream();
    let mut events = session.stream(&search_request(7));
    for _ in 0..ANSWERING_SOURCES {
        assert_eq!(events.expect_message()["method"], "notifications/progress");
    }
    terminate(server.process());
    assert_eq!(
        news.remaining_messages(),
        Vec::<Value>::new(),
        "the server must have handled the first signal"
    );
    terminate(server.process());
    assert_eq!(server.wait_for_exit(), Some(1));
}

#[test]
fn stdio_server_exits_cleanly_after_grace_period() {
    let library = Library::with_endless_prompts();
    let settings = "[server]\ngrace_seconds = 1\n[limits]\nsource_ms = 3600000";
    let settings = library.write_file("hasty.toml", settings);
    let mut pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    pipe.write_line(&search_request(7).to_string());
    for _ in 0..ANSWERING_SOURCES {
        assert_eq!(pipe.read_message()["params"]["progressToken"], 7);
    }
    terminate(pipe.process());
    assert_eq!(pipe.wait_for_exit(), Some(0));
    assert_eq!(wal_files(&library), []);
}

#[test]
fn closed_stdin_leaves_no_write_ahead_log() {
    let library = Library::new();
    let settings = library.write_file("writing.toml", "[tools]\nwrite = true");
    let pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    for number in 0..20 {
        let arguments = json!({ "title": format!("Note {number}"), "content": "An amethyst." });
        let call = json_rpc_request(
            "tools/call",
            &json!({ "name": "notes.create", "arguments": arguments }),
        );
        pipe.write_line(&call.to_string());
    }
    let (answers, code) = pipe.close_input();
    assert_eq!((answers.len(), code), (20, Some(0)));
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
    assert_eq!(wal_files(&library), []);
}
