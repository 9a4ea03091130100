//! How a server ends when it is told to: what was begun is done or not done, never
//! half, and nothing is left beside the databases.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::{Value, json};

use crate::program::{Caller, Events, Library, Received, Server, Socket, request, terminate};

/// Sources that answer a search in an endless library; the fifth never does.
const ANSWERING: usize = 4;

fn search(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": id },
    }})
}

/// What lies beside the databases of the one user.
fn logs(library: &Library) -> Vec<(String, u64)> {
    let folder = fs::read_dir(library.data().join("users/local")).unwrap();
    let files = folder.map(|entry| entry.unwrap());
    let logs = files.filter(|file| file.file_name().to_string_lossy().ends_with("-wal"));
    let sizes = logs.map(|file| {
        (file.file_name().to_string_lossy().into_owned(), file.metadata().unwrap().len())
    });
    sizes.filter(|(_, size)| *size > 0).collect()
}

/// A server that is told to stop while it searches: 7 over HTTP, 8 over a socket.
fn stopped_in_a_search(library: &Library, settings: &str) -> (Server, Events, Socket) {
    let server = library.serve_set(settings);
    let mut events = server.client().stream(&search(7));
    let socket = server.socket();
    socket.send(&search(8));
    for _ in 0..ANSWERING {
        assert_eq!(events.message()["method"], "notifications/progress");
        assert_eq!(socket.message()["params"]["progressToken"], 8);
    }
    terminate(server.process());
    (server, events, socket)
}

#[test]
fn a_search_that_does_not_end_is_given_up_after_a_while() {
    let library = Library::endless();
    let settings = "[server]\ngrace_seconds = 1\n[limits]\nsource_ms = 3600000";
    let (mut server, _events, _socket) = stopped_in_a_search(&library, settings);
    assert_eq!(server.wait(), Some(0));
    assert_eq!(logs(&library), []);
}

#[test]
fn a_search_that_ends_in_time_is_answered_over_http_and_a_socket() {
    let library = Library::endless();
    let settings = "[server]\ngrace_seconds = 20\n[limits]\nsource_ms = 1500";
    let (mut server, events, socket) = stopped_in_a_search(&library, settings);
    let last = events.rest().pop().unwrap();
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(7), &json!(false)), "{last}");
    loop {
        let message = socket.message();
        if message["id"] == 8 {
            assert_eq!(message["result"]["isError"], false, "{message}");
            break;
        }
    }
    assert!(matches!(socket.read(), Received::Closed(Some(_))));
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn every_write_that_was_acknowledged_is_there_and_no_other_is_half_there() {
    let library = Library::new();
    let mut server = library.serve_set("[tools]\nwrite = true");
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
                        if !write(address, &title) {
                            break;
                        }
                        titles.push(title);
                        // In the middle of it all, the server is told to stop.
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
    assert_eq!(server.wait(), Some(0));
    assert_eq!(logs(&library), []);
    let server = library.serve();
    let mut offset = json!(0);
    let mut found = Vec::new();
    while !offset.is_null() {
        let page = json!({ "query": "amethyst", "limit": 100, "offset": offset });
        let page = server.client().call("notes.search", &page);
        let hits = page["results"].as_array().unwrap().iter();
        found.extend(hits.map(|hit| hit["title"].as_str().unwrap().to_owned()));
        offset = page["next_offset"].clone();
    }
    for title in &titles {
        assert!(found.contains(title), "{title} was acknowledged");
    }
    // Each of the four may have had one that was done when it could not be answered.
    assert!(found.len() <= titles.len() + 4, "{} {}", found.len(), titles.len());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

/// Writes a note; tells whether that was acknowledged.
fn write(address: &str, title: &str) -> bool {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
    };
    let arguments = json!({ "title": title, "content": "An amethyst in a drawer." });
    let body = request("tools/call", &json!({ "name": "notes.create", "arguments": arguments }));
    let body = body.to_string();
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    let mut answer = String::new();
    sent.and_then(|()| stream.read_to_string(&mut answer)).is_ok()
        && answer.contains("\"isError\":false")
}

#[test]
fn told_twice_it_ends_at_once() {
    let library = Library::endless();
    let settings = "[server]\ngrace_seconds = 3600\n[limits]\nsource_ms = 3600000";
    let mut server = library.serve_set(settings);
    let session = server.session();
    let news = session.listen();
    let mut events = session.stream(&search(7));
    for _ in 0..ANSWERING {
        assert_eq!(events.message()["method"], "notifications/progress");
    }
    terminate(server.process());
    assert_eq!(news.rest(), Vec::<Value>::new(), "the server has heard it");
    terminate(server.process());
    assert_eq!(server.wait(), Some(1));
}

#[test]
fn a_pipe_is_given_up_after_a_while_and_ends_well() {
    let library = Library::endless();
    let settings = "[server]\ngrace_seconds = 1\n[limits]\nsource_ms = 3600000";
    let settings = library.write("hasty.toml", settings);
    let mut pipe = library.pipe_with(&["--config", settings.to_str().unwrap()]);
    pipe.write(&search(7).to_string());
    for _ in 0..ANSWERING {
        assert_eq!(pipe.read()["params"]["progressToken"], 7);
    }
    terminate(pipe.process());
    assert_eq!(pipe.wait(), Some(0));
    assert_eq!(logs(&library), []);
}

#[test]
fn a_pipe_that_hangs_up_leaves_nothing_beside_its_databases() {
    let library = Library::new();
    let settings = library.write("writing.toml", "[tools]\nwrite = true");
    let pipe = library.pipe_with(&["--config", settings.to_str().unwrap()]);
    for number in 0..20 {
        let arguments = json!({ "title": format!("Note {number}"), "content": "An amethyst." });
        let call =
            request("tools/call", &json!({ "name": "notes.create", "arguments": arguments }));
        pipe.write(&call.to_string());
    }
    let (answers, code) = pipe.hang_up();
    assert_eq!((answers.len(), code), (20, Some(0)));
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
    assert_eq!(logs(&library), []);
}
