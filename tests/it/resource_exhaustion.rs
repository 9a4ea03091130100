//! End-to-end tests of abusive clients: floods, oversized input and requests that never end cost
//! bounded memory, and other clients are still answered.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    Library, McpClient, Opcode, RawWebSocket, Server, encode_frame, json_rpc_request, resident_mb,
    with_client_meta,
};

/// Maximum memory growth of the server during an attack, in MB.
const MAX_GROWTH_MB: u64 = 96;

/// Settings with the shortest possible timeouts and without rate limits.
const SHORT_TIMEOUTS: &str = "[server]\nhead_seconds = 1\nbody_seconds = 1\nwrite_seconds = 1\n\
                     [limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0";

/// Beginning of a request with a JSON body.
const JSON_HEAD: &str =
    "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

/// Runs an attack on a server and asserts that its memory growth is bounded and that it still
/// answers.
fn assert_withstands<T>(server: &Server, attack: impl FnOnce() -> T) -> T {
    server.assert_alive();
    let before = resident_mb(server.process());
    let done = attack();
    server.assert_alive();
    let after = resident_mb(server.process());
    assert!(after < before + MAX_GROWTH_MB, "memory grew from {before} MB to {after} MB");
    done
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.set_write_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

/// Reads everything that the server sends until it closes the connection. The server may close it
/// before it has read the full request.
fn read_until_close(mut stream: TcpStream) -> String {
    let mut response = Vec::new();
    match stream.read_to_end(&mut response) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8(response).unwrap()
}

#[test]
fn endless_headers_cause_timeout() {
    // actix-http reads the time from a clock that is set every half second, and never ends a head
    // whose time limit has passed when it begins. On a busy machine the clock is late.
    let server = Library::new()
        .serve_with_settings(&SHORT_TIMEOUTS.replace("head_seconds = 1", "head_seconds = 5"));
    assert_withstands(&server, || {
        let streams: Vec<TcpStream> = (0..200)
            .map(|_| {
                let mut stream = connect(&server);
                stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ").unwrap();
                stream
            })
            .collect();
        server.assert_alive();
        for stream in streams {
            let response = read_until_close(stream);
            assert!(response.is_empty() || response.starts_with("HTTP/1.1 408"), "{response}");
        }
    });
}

#[test]
fn endless_bodies_cause_timeout() {
    // On a busy machine, heads may wait for longer than a second. They must not run out of time
    // here, so that it is the bodies that do.
    let server = Library::new()
        .serve_with_settings(&SHORT_TIMEOUTS.replace("head_seconds = 1", "head_seconds = 30"));
    assert_withstands(&server, || {
        let streams: Vec<TcpStream> = (0..200)
            .map(|_| {
                let mut stream = connect(&server);
                let head = format!("{JSON_HEAD}content-length: 500\r\n\r\n{{");
                stream.write_all(head.as_bytes()).unwrap();
                stream
            })
            .collect();
        server.assert_alive();
        for stream in streams {
            let response = read_until_close(stream);
            assert!(
                response.starts_with("HTTP/1.1 408") && response.contains("body_seconds"),
                "{response}"
            );
        }
    });
}

#[test]
fn stalled_connection_is_closed() {
    let hasty = "[server]\nwrite_seconds = 1\n[limits]\ncall_ms = 1000";
    let server = Library::new().serve_with_settings(hasty);
    let mut stream = connect(&server);
    let ping = json_rpc_request("ping", &json!({})).to_string();
    let length = ping.len();
    let whole = format!("{JSON_HEAD}content-length: {length}\r\n\r\n{ping}");
    // The second request is never completed, so the connection does not count as idle.
    stream.write_all(format!("{whole}POST /mcp HTTP/1.1\r\nhost: ").as_bytes()).unwrap();
    let response = read_until_close(stream);
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with('}'), "{response}");
}

/// Python's `httpx` keeps idle connections for five seconds. If the server closed one at the same
/// moment, a request would remain unanswered.
#[test]
fn keep_alive_exceeds_that_of_common_clients() {
    let server = Library::new().serve();
    let mut stream = connect(&server);
    for pause in [0, 6] {
        thread::sleep(Duration::from_secs(pause));
        stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut buffer = [0; 4_096];
        let length = stream.read(&mut buffer).unwrap();
        let response = String::from_utf8_lossy(&buffer[..length]);
        assert!(response.starts_with("HTTP/1.1 200"), "after {pause} s: {response:?}");
    }
}

#[test]
fn oversized_headers_are_rejected() {
    let server = Library::new().serve_with_settings(SHORT_TIMEOUTS);
    assert_withstands(&server, || {
        let large = format!("x-large: {}\r\n", "x".repeat(300_000));
        let many = "x-many: x\r\n".repeat(2_000);
        for headers in [large, many] {
            for _ in 0..20 {
                let mut stream = connect(&server);
                let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
                // The server may reject the request before it is fully sent, so write errors are
                // ignored.
                drop(stream.write_all(head.as_bytes()));
                let response = read_until_close(stream);
                let refused =
                    ["HTTP/1.1 431", "HTTP/1.1 400"].iter().any(|it| response.starts_with(it));
                assert!(response.is_empty() || refused, "{response}");
            }
        }
    });
}

#[test]
fn deeply_nested_json_is_rejected_everywhere() {
    let server = Library::with_lanterns().serve_with_settings(SHORT_TIMEOUTS);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let messages = [
        deep.clone(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{deep}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{deep}}}}}"#),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"knowledge.search","arguments":{{"query":{deep}}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{deep},"clientInfo":{{}}}}}}"#
        ),
    ];
    assert_withstands(&server, || {
        let mut raw = RawWebSocket::open(&server);
        for message in &messages {
            let request = server.request("POST", "/mcp").header("content-type", "application/json");
            let response = request.body(message.as_bytes()).send();
            assert!([200, 400].contains(&response.status), "{}", response.status);
            response.json();
            raw.send_bytes(&encode_frame(Opcode::Text, true, message.as_bytes())).unwrap();
            raw.read_message();
        }
    });
}

/// Creates a library with a long note and returns it with a request that reads the note.
fn long_item_request() -> (Library, Value) {
    let library = Library::with_notes([("Long", "A pebble and sand. ".repeat(5_000))]);
    let server = library.serve();
    let hit = server.client().only_hit("notes.search", &json!({ "query": "pebble" }));
    let read = json!({ "source": "notes", "id": hit["id"], "retrieval": { "mode": "full" } });
    let read = json!({ "name": "knowledge.get", "arguments": read });
    (library, json_rpc_request("tools/call", &read))
}

#[test]
fn socket_that_never_reads_is_closed() {
    let (library, read) = long_item_request();
    let server = library.serve_with_settings(SHORT_TIMEOUTS);
    let listen = with_client_meta(&json_rpc_request(
        "subscriptions/listen",
        &json!({ "notifications": {} }),
    ));
    let ping = json_rpc_request("ping", &json!({}));
    assert_withstands(&server, || {
        let mut raw = RawWebSocket::open(&server);
        let mut messages = [read, ping, listen];
        let mut sent = 0_usize;
        // Sends until the server stops reading.
        let error = loop {
            let message = &mut messages[sent % 3];
            message["id"] = json!(sent);
            if let Err(error) = raw.send_message(message) {
                break error;
            }
            sent += 1;
            if sent.is_multiple_of(100) {
                server.assert_alive();
            }
        };
        let cut_off = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(cut_off.contains(&error.kind()), "{error}");
    });
}

#[test]
fn subscriptions_per_connection_are_limited() {
    let server = Library::new().serve();
    let mut raw = RawWebSocket::open(&server);
    let mut refused = 0;
    for id in 0..20 {
        let mut listen = json_rpc_request("subscriptions/listen", &json!({ "notifications": {} }));
        listen["id"] = json!(id);
        raw.send_message(&with_client_meta(&listen)).unwrap();
        let answer = raw.read_message();
        refused += u32::from(answer["id"] == id && answer["error"]["code"] == -32_004);
    }
    assert_eq!(refused, 4);
}

#[test]
fn http_client_that_never_reads_is_closed() {
    let (library, read) = long_item_request();
    let server = library.serve_with_settings(SHORT_TIMEOUTS);
    assert_withstands(&server, || {
        let body = read.to_string();
        let length = body.len();
        let call = format!("{JSON_HEAD}content-length: {length}\r\n\r\n{body}");
        for _ in 0..4 {
            let mut stream = connect(&server);
            // Sends without reading any response, until the server stops reading.
            let error = loop {
                if let Err(error) = stream.write_all(call.as_bytes()) {
                    break error;
                }
            };
            let cut_off = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            assert!(cut_off.contains(&error.kind()), "{error}");
        }
    });
}

#[test]
fn ping_and_pong_floods_are_tolerated() {
    let server = Library::new().serve_with_settings(SHORT_TIMEOUTS);
    assert_withstands(&server, || {
        let mut raw = RawWebSocket::open(&server);
        let pings = encode_frame(Opcode::Ping, true, &[7; 125]).repeat(100);
        let pongs = encode_frame(Opcode::Pong, true, b"").repeat(1_000);
        for _ in 0..200 {
            if raw.send_bytes(&pings).and_then(|()| raw.send_bytes(&pongs)).is_err() {
                // The server has closed the connection because its pongs were not read.
                return;
            }
            server.assert_alive();
        }
    });
}

#[test]
fn one_byte_fragments_are_assembled() {
    let server = Library::new().serve_with_settings(SHORT_TIMEOUTS);
    assert_withstands(&server, || {
        let mut raws: Vec<RawWebSocket> = (0..2).map(|_| RawWebSocket::open(&server)).collect();
        let message = json_rpc_request("ping", &json!({ "_meta": { "x": "x".repeat(100_000) } }));
        let bytes = message.to_string().into_bytes();
        let mut pieces = encode_frame(Opcode::Text, false, &bytes[..1]);
        for byte in &bytes[1..bytes.len() - 1] {
            pieces.extend(encode_frame(Opcode::Continuation, false, &[*byte]));
            // Empty fragments are allowed between the others.
            pieces.extend(encode_frame(Opcode::Continuation, false, &[]));
        }
        for raw in &mut raws {
            raw.send_bytes(&pieces).unwrap();
        }
        server.assert_alive();
        let last = encode_frame(Opcode::Continuation, true, &bytes[bytes.len() - 1..]);
        for raw in &mut raws {
            raw.send_bytes(&last).unwrap();
            assert_eq!(raw.read_message()["result"], json!({}));
        }
    });
}

#[test]
fn sockets_are_released_after_close() {
    let server = Library::new().serve_with_settings(SHORT_TIMEOUTS);
    assert_withstands(&server, || {
        for _ in 0..4 {
            let raws: Vec<RawWebSocket> = (0..100).map(|_| RawWebSocket::open(&server)).collect();
            server.assert_alive();
            drop(raws);
        }
    });
}

#[test]
fn session_count_is_bounded() {
    let server = Library::new().serve_with_settings(SHORT_TIMEOUTS);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "x".repeat(10_000), "version": "1" } });
    let kept = assert_withstands(&server, || {
        let first = server.open_session_with(&hello);
        for _ in 0..1_200 {
            server.open_session_with(&hello);
        }
        first.session_id().to_owned()
    });
    let first = server.client().in_session(&kept).send(&json_rpc_request("ping", &json!({})));
    assert_eq!(first.status, 404, "the least recently used session must be evicted");
}

#[test]
fn oversized_batch_is_rejected() {
    let server = Library::new().serve_with_settings(SHORT_TIMEOUTS);
    assert_withstands(&server, || {
        let batch = vec![json_rpc_request("ping", &json!({})); 10_000];
        let sent = server.request("POST", "/mcp").header("mcp-protocol-version", "2025-03-26");
        let refused = sent.json(&Value::from(batch)).send();
        assert_eq!(refused.status, 400, "{refused:?}");
    });
}
