//! A client over HTTP.

use serde_json::{Value, json};

use super::{EventStream, HttpRequest, HttpResponse, McpClient, Server};

/// An HTTP client, with or without a session.
#[derive(Clone)]
pub(crate) struct HttpClient<'a> {
    server: &'a Server,
    path: String,
    session: Option<String>,
    headers: Vec<(String, String)>,
}

impl<'a> HttpClient<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self { server, path: "/mcp".to_owned(), session: None, headers: Vec::new() }
    }

    /// Sets the session id that is sent in the `mcp-session-id` header.
    pub(crate) fn in_session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self
    }

    /// Adds a header to every request.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends an API key or token as the bearer credential.
    pub(crate) fn with_bearer_token(self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    /// Initializes a session and returns a client that uses it.
    pub(crate) fn initialize_session(self) -> Self {
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

    /// Sends a ping and returns the raw response.
    pub(crate) fn ping(&self) -> HttpResponse {
        self.send(&super::mcp_client::json_rpc_request("ping", &json!({})))
    }

    /// Returns the session id; panics without a session.
    pub(crate) fn session_id(&self) -> &str {
        self.session.as_deref().unwrap()
    }

    /// Sets the query string of the URL, such as `tool_names=dotted`.
    pub(crate) fn with_query(mut self, query: &str) -> Self {
        self.path = format!("/mcp?{query}");
        self
    }

    /// Sends a message and returns the raw response.
    pub(crate) fn send(&self, message: &Value) -> HttpResponse {
        self.build_request("POST").json(message).send()
    }

    /// Sends a message and returns the response as an event stream.
    pub(crate) fn stream(&self, message: &Value) -> EventStream {
        self.build_request("POST").json(message).stream()
    }

    /// Opens the session's stream of server notifications.
    pub(crate) fn open_notification_stream(&self) -> EventStream {
        self.build_request("GET").header("accept", "text/event-stream").stream()
    }

    fn build_request(&self, method: &str) -> HttpRequest<'a> {
        let request = self.server.request(method, &self.path);
        let request = self.headers.iter().fold(request, |it, (name, value)| it.header(name, value));
        match &self.session {
            Some(id) => request.header("mcp-session-id", id),
            None => request,
        }
    }
}

impl McpClient for HttpClient<'_> {
    fn exchange(&self, request: &Value) -> Value {
        let response = self.send(request);
        assert_eq!(response.status, 200, "{request}: {response:?}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        response.json()
    }
}
