//! End-to-end tests of the budgets of bytes in flight: unfinished messages of one user take bounded
//! memory, and what exceeds it is refused with the setting.

use serde_json::json;

use crate::support::{
    Library, McpClient, OAuthServer, Opcode, RawWebSocket, Server, encode_frame, json_rpc_request,
    wait_until,
};

/// Budget of the user in these tests, in bytes.
const BUDGET: usize = 1_000_000;
/// Close code of a server that has no room now (RFC 6455, section 7.4).
const TRY_AGAIN_LATER: u16 = 1_013;
/// Close code of a connection that breaks a rule.
const POLICY: u16 = 1_008;

fn serve_with_budget() -> Server {
    Library::with_lanterns().serve_with_settings(&format!(
        "[server]\nmax_body_bytes = 65536\nmax_message_bytes = 65536\n\
         [limits]\nbytes_in_flight_per_user = {BUDGET}"
    ))
}

/// Returns the bytes in flight that the server counts.
fn bytes_in_flight(server: &Server) -> usize {
    let metrics = server.request("GET", "/metrics").send().body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("vademecum_bytes_in_flight "));
    line.unwrap().parse().unwrap()
}

/// Opens connections with an unfinished message of this size until one is refused. Returns the
/// others.
fn fill(server: &Server, bytes: usize) -> Vec<RawWebSocket> {
    let mut open = Vec::new();
    loop {
        let mut socket = RawWebSocket::open(server);
        socket.send_bytes(&encode_frame(Opcode::Text, false, &vec![b'x'; bytes])).unwrap();
        // The ping arrives between the fragments of the message.
        drop(socket.send_bytes(&encode_frame(Opcode::Ping, true, b"")));
        if let Some((code, reason)) = socket.read_close() {
            assert_eq!(code, TRY_AGAIN_LATER, "{reason}");
            assert!(reason.contains(&format!("{BUDGET} bytes")), "{reason}");
            assert!(reason.contains("limits.bytes_in_flight_per_user"), "{reason}");
            return open;
        }
        open.push(socket);
        assert!(bytes_in_flight(server) <= BUDGET);
        assert!(open.len() * bytes <= BUDGET, "more than the budget is held");
    }
}

#[test]
fn unfinished_messages_of_user_are_bounded() {
    let server = serve_with_budget();
    let open: Vec<_> = [60_000, 6_000, 600].iter().flat_map(|size| fill(&server, *size)).collect();
    assert!(bytes_in_flight(&server) > BUDGET / 2);
    let long = json!({ "query": "prisms", "unused": "x".repeat(20_000) });
    let call = json!({ "name": "knowledge.search", "arguments": long });
    let refused = server.client().send(&json_rpc_request("tools/call", &call));
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"), "{refused:?}");
    assert!(refused.body.contains("limits.bytes_in_flight_per_user"), "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], -32_004);
    drop(open);
    wait_until("the memory to be given back", || bytes_in_flight(&server) == 0);
    assert_eq!(server.client().send(&json_rpc_request("tools/call", &call)).status, 200);
    server.open_websocket().only_hit("knowledge.search", &json!({ "query": "prisms" }));
}

#[test]
fn unfinished_message_ends_at_its_deadline() {
    let server = Library::new().serve_with_settings("[server]\nbody_seconds = 1");
    let mut socket = RawWebSocket::open(&server);
    socket.send_bytes(&encode_frame(Opcode::Text, false, b"{")).unwrap();
    let (code, reason) = socket.read_close().unwrap();
    assert_eq!(code, POLICY);
    assert!(reason.contains("server.body_seconds"), "{reason}");
    wait_until("the memory to be given back", || bytes_in_flight(&server) == 0);
}

#[test]
fn anonymous_bodies_are_short() {
    let served = OAuthServer::start();
    let form = format!("grant_type=refresh_token&refresh_token={}", "x".repeat(70_000));
    let post = served.server.request("POST", "/oauth/token");
    let post = post.header("content-type", "application/x-www-form-urlencoded").body(form);
    assert_eq!(post.send().status, 413);
}
