//! A client over HTTP.

use serde_json::Value;

use super::{Caller, Response, Server};

/// A client over HTTP, in a session or without one.
#[derive(Clone)]
pub(crate) struct Client<'a> {
    server: &'a Server,
    path: String,
    session: Option<String>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self { server, path: "/mcp".to_owned(), session: None }
    }

    /// Says in which session it speaks, in the header.
    pub(crate) fn in_session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self
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
        let request = self.server.request("POST", &self.path).json(message);
        match &self.session {
            Some(id) => request.header("mcp-session-id", id).send(),
            None => request.send(),
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
