//! A client whose every request stands for itself, as in the revision 2026-07-28.

use serde_json::{Value, json};

use super::{Caller, Events, Request, Response, Server};

/// The revision without sessions.
const ALONE: &str = "2026-07-28";

/// A client over HTTP that says in each request who it is and what it can do.
pub(crate) struct Alone<'a> {
    server: &'a Server,
    headers: Vec<(String, String)>,
}

impl<'a> Alone<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self { server, headers: Vec::new() }
    }

    /// With another header, which takes the place of its own.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a request with all that it takes and gives back the response as
    /// it is.
    pub(crate) fn send(&self, request: &Value) -> Response {
        self.send_bare(&with_meta(request))
    }

    /// Sends a message as it is, with the headers that belong to it.
    pub(crate) fn send_bare(&self, message: &Value) -> Response {
        self.request(message).send()
    }

    /// Sends a request with all that it takes and reads what is answered event
    /// by event.
    pub(crate) fn stream(&self, request: &Value) -> Events {
        self.request(&with_meta(request)).stream()
    }

    fn request(&self, message: &Value) -> Request<'a> {
        let own = headers_of(message);
        let replaced = |name: &str| self.headers.iter().any(|(other, _)| other == name);
        let own = own.into_iter().filter(|(name, _)| !replaced(name));
        let mut request = self.server.request("POST", "/mcp").json(message);
        for (name, value) in own.chain(self.headers.iter().cloned()) {
            request = request.header(&name, &value);
        }
        request
    }
}

impl Caller for Alone<'_> {
    fn exchange(&self, request: &Value) -> Value {
        self.send(request).json()
    }
}

/// The request with what it must say of itself.
pub(crate) fn with_meta(request: &Value) -> Value {
    let mut request = request.clone();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": ALONE,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let place = &mut request["params"]["_meta"];
    if let (Value::Object(fields), Value::Object(meta)) = (&mut *place, &meta) {
        fields.extend(meta.clone());
    } else {
        *place = meta;
    }
    request
}

/// What the headers say of a message.
fn headers_of(message: &Value) -> Vec<(String, String)> {
    let mut headers = vec![("mcp-protocol-version".to_owned(), ALONE.to_owned())];
    let mut say = |name: &str, value: &Value| {
        if let Some(value) = value.as_str() {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    say("mcp-method", &message["method"]);
    match message["method"].as_str() {
        Some("tools/call" | "prompts/get") => say("mcp-name", &message["params"]["name"]),
        Some("resources/read") => say("mcp-name", &message["params"]["uri"]),
        _ => {}
    }
    headers
}
