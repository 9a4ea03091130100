//! End-to-end tests of the host and origin checks, which prevent foreign web pages from using this
//! server through a browser.

use serde_json::json;

use crate::support::{HttpRequest, Library, Server};

/// Returns the same request over HTTP and as a WebSocket upgrade, each with its status code on
/// success.
fn http_and_websocket_requests(server: &Server) -> [(HttpRequest<'_>, u16); 2] {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    [
        (server.request("POST", "/mcp").json(&ping), 200),
        (server.request("GET", "/mcp/ws").upgrade(), 101),
    ]
}

#[test]
fn foreign_host_is_rejected() {
    let server = Library::new().serve();
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0"] {
        for (request, _) in http_and_websocket_requests(&server) {
            let response = request.host(host).send();
            assert_eq!(response.status, 403, "{host}");
            assert!(response.body.contains(host), "{response:?}");
        }
    }
    server.assert_alive();
}

#[test]
fn loopback_hosts_are_accepted() {
    let server = Library::new().serve();
    for host in ["localhost", "localhost:7744", "127.0.0.1", "[::1]:7744", "LocalHost"] {
        for (request, welcome) in http_and_websocket_requests(&server) {
            assert_eq!(request.host(host).send().status, welcome, "{host}");
        }
    }
}

#[test]
fn foreign_origin_is_rejected() {
    let server = Library::new().serve();
    for origin in [
        "null",
        "https://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "file://",
        "chrome-extension://abc",
        "",
    ] {
        for (request, _) in http_and_websocket_requests(&server) {
            assert_eq!(request.header("origin", origin).send().status, 403, "{origin:?}");
        }
    }
}

/// Any program on this machine can serve pages on another port.
#[test]
fn only_own_and_listed_origins_are_accepted() {
    let server = Library::new().serve();
    let own = format!("http://{}", server.address());
    for (request, welcome) in http_and_websocket_requests(&server) {
        assert_eq!(request.header("origin", &own).send().status, welcome, "{own}");
    }
    for origin in [
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1",
        "https://127.0.0.1",
        "http://[::1]:6274",
        &format!("{own}0"),
        &format!("{own}.evil.example"),
    ] {
        for (request, _) in http_and_websocket_requests(&server) {
            let refused = request.header("origin", origin).send();
            assert_eq!(refused.status, 403, "{origin}");
            assert!(refused.body.contains("allowed_origins"), "{refused:?}");
        }
    }
    let listed = "[server]\nallowed_origins = [\"http://localhost:3000\"]";
    let server = Library::new().serve_with_settings(listed);
    for (request, welcome) in http_and_websocket_requests(&server) {
        let request = request.header("origin", "http://localhost:3000");
        assert_eq!(request.send().status, welcome);
    }
}

/// A page may send a body of these types to any server without asking it first.
#[test]
fn body_other_than_json_is_rejected() {
    let library = Library::new();
    let server = library.serve();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let post = |path: &str| server.request("POST", path).body(ping.as_bytes());
    for kind in [
        "text/plain",
        "text/plain;application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "",
    ] {
        for path in ["/mcp", "/health/ready"] {
            let refused = post(path).header("content-type", kind).send();
            assert_eq!(refused.status, 415, "{path} {kind:?}");
            assert!(refused.body.contains("application/json"), "{refused:?}");
        }
    }
    let untyped = post("/mcp").send();
    assert_eq!(untyped.status, 415);
    assert_eq!(untyped.json()["jsonrpc"], "2.0", "clients expect JSON-RPC here");
    let twice = post("/mcp").header("content-type", "application/json");
    assert_eq!(twice.header("content-type", "text/plain").send().status, 415);
    for kind in ["application/json", "Application/JSON; charset=utf-8", "application/json;"] {
        assert_eq!(post("/mcp").header("content-type", kind).send().status, 200, "{kind}");
    }
}

#[test]
fn second_origin_header_is_checked() {
    let server = Library::new().serve();
    for (request, _) in http_and_websocket_requests(&server) {
        let request = request.header("origin", "http://localhost");
        assert_eq!(request.header("origin", "https://evil.example").send().status, 403);
    }
}

#[test]
fn configured_hosts_and_origins_are_accepted() {
    let server = Library::new().serve_with_settings(
        "[server]\nallowed_hosts = [\"box.example\"]\nallowed_origins = [\"https://app.example\"]",
    );
    for (request, welcome) in http_and_websocket_requests(&server) {
        let request = request.host("box.example").header("origin", "https://app.example");
        assert_eq!(request.send().status, welcome);
    }
    for (request, _) in http_and_websocket_requests(&server) {
        assert_eq!(request.header("origin", "https://other.example").send().status, 403);
    }
}

#[test]
fn session_deletion_checks_origin() {
    let server = Library::new().serve();
    let session = server.open_session();
    let delete = server.request("DELETE", "/mcp").header("mcp-session-id", session.session_id());
    assert_eq!(delete.header("origin", "https://evil.example").send().status, 403);
    let delete = server.request("DELETE", "/mcp").header("mcp-session-id", session.session_id());
    assert_eq!(delete.send().status, 204);
}

#[test]
fn cors_headers_are_sent_to_allowed_origins() {
    let listed = "[server]\nallowed_origins = [\"http://localhost:3000\"]";
    let server = Library::new().serve_with_settings(listed);
    let request = server.request("OPTIONS", "/mcp").header("origin", "http://localhost:3000");
    let request = request.header("access-control-request-method", "POST");
    let response =
        request.header("access-control-request-headers", "content-type,mcp-session-id").send();
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some("http://localhost:3000"));
    let allowed =
        response.header("access-control-allow-headers").unwrap_or_default().to_lowercase();
    assert!(allowed.contains("mcp-session-id") && allowed.contains("content-type"), "{allowed}");

    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = server.request("POST", "/mcp").header("origin", "http://localhost:3000");
    let answer = request.json(&ping).send();
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:3000"));
    let foreign = server.request("OPTIONS", "/mcp").header("origin", "http://localhost:3001");
    let foreign = foreign.header("access-control-request-method", "POST").send();
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (403, None));
    let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
    for header in ["mcp-session-id", "www-authenticate", "retry-after"] {
        assert!(exposed.contains(header), "{exposed}");
    }
}
