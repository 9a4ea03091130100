//! A client over HTTP.

use serde_json::{Value, json};

use super::{Caller, Events, Request, Response, Server};

/// A client over HTTP, in a session or without one.
#[derive(Clone)]
pub(crate) struct Client<'a> {
    server: &'a Server,
    path: String,
    session: Option<String>,
    headers: Vec<(String, String)>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self { server, path: "/mcp".to_owned(), session: None, headers: Vec::new() }
    }

    /// Says in which session it speaks, in the header.
    pub(crate) fn in_session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self
    }

    /// Sends a header with everything.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Shows a key or a token.
    pub(crate) fn bearing(self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    /// Shakes hands, and speaks in the session that this opens.
    pub(crate) fn shake_hands(self) -> Self {
        let response = self.send(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            },
        }));
        let id = response.header("mcp-session-id").unwrap_or_else(|| panic!("{response:?}"));
        self.in_session(id)
    }

    /// What a ping comes back as.
    pub(crate) fn ping(&self) -> Response {
        self.send(&super::caller::request("ping", &json!({})))
    }

    /// The session that it speaks in.
    pub(crate) fn session_id(&self) -> &str {
        self.session.as_deref().unwrap()
    }

    /// Says something in the address, such as `tool_names=dotted`.
    pub(crate) fn with_query(mut self, query: &str) -> Self {
        self.path = format!("/mcp?{query}");
        self
    }

    /// Sends a message and gives back the response as it is.
    pub(crate) fn send(&self, message: &Value) -> Response {
        self.request("POST").json(message).send()
    }

    /// Sends a message and reads what is answered event by event.
    pub(crate) fn stream(&self, message: &Value) -> Events {
        self.request("POST").json(message).stream()
    }

    /// Opens the stream for the news of its session.
    pub(crate) fn listen(&self) -> Events {
        self.request("GET").header("accept", "text/event-stream").stream()
    }

    fn request(&self, method: &str) -> Request<'a> {
        let request = self.server.request(method, &self.path);
        let request = self.headers.iter().fold(request, |it, (name, value)| it.header(name, value));
        match &self.session {
            Some(id) => request.header("mcp-session-id", id),
            None => request,
        }
    }
}

impl Caller for Client<'_> {
    fn exchange(&self, request: &Value) -> Value {
        let response = self.send(request);
        assert_eq!(response.status, 200, "{request}: {response:?}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        response.json()
    }
}
