//! A client without a session: each request carries its own metadata, as in protocol revision
//! 2026-07-28.

use serde_json::{Value, json};

use super::{EventStream, HttpRequest, HttpResponse, McpClient, Server};

/// The protocol revision without sessions.
const STATELESS_REVISION: &str = "2026-07-28";

/// An HTTP client that sends its name and capabilities with every request.
pub(crate) struct StatelessClient<'a> {
    server: &'a Server,
    headers: Vec<(String, String)>,
    capabilities: Value,
}

impl<'a> StatelessClient<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self { server, headers: Vec::new(), capabilities: json!({}) }
    }

    /// Adds a header, which replaces the default header of the same name.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Declares these capabilities with every request.
    pub(crate) fn with_capabilities(self, capabilities: &Value) -> Self {
        Self { capabilities: capabilities.clone(), ..self }
    }

    /// Adds the client metadata to a request, sends it and returns the raw response.
    pub(crate) fn send(&self, request: &Value) -> HttpResponse {
        let mut request = with_client_meta(request);
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            self.capabilities.clone();
        self.send_unmodified(&request)
    }

    /// Sends a message unchanged, with the headers that its method requires.
    pub(crate) fn send_unmodified(&self, message: &Value) -> HttpResponse {
        self.build_request(message).send()
    }

    /// Adds the client metadata to a request, sends it and returns the response as an event stream.
    pub(crate) fn stream(&self, request: &Value) -> EventStream {
        self.build_request(&with_client_meta(request)).stream()
    }

    fn build_request(&self, message: &Value) -> HttpRequest<'a> {
        let own = message_headers(message);
        let replaced = |name: &str| self.headers.iter().any(|(other, _)| other == name);
        let own = own.into_iter().filter(|(name, _)| !replaced(name));
        let mut request = self.server.request("POST", "/mcp").json(message);
        for (name, value) in own.chain(self.headers.iter().cloned()) {
            request = request.header(&name, &value);
        }
        request
    }
}

impl McpClient for StatelessClient<'_> {
    fn exchange(&self, request: &Value) -> Value {
        self.send(request).json()
    }
}

/// Returns the request with the `_meta` fields that revision 2026-07-28 requires.
pub(crate) fn with_client_meta(request: &Value) -> Value {
    let mut request = request.clone();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
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

/// Returns the HTTP headers that repeat the version, method and name of a message.
fn message_headers(message: &Value) -> Vec<(String, String)> {
    let mut headers = vec![("mcp-protocol-version".to_owned(), STATELESS_REVISION.to_owned())];
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
