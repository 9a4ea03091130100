//! A minimal HTTP/1.1 client that gives a test control of every header.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::Value;

use super::{
    EventStream, REPLY_TIMEOUT,
    wire_recorder::{MessageSender, WireRecorder, session_id_in_url},
};

/// A request that is sent on its own connection.
pub(crate) struct HttpRequest<'a> {
    address: &'a str,
    method: String,
    path: String,
    host: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    /// The status code.
    pub(crate) status: u16,
    /// The body as received; chunked transfer encoding is not decoded.
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn new(address: &'a str, method: &str, path: &str) -> Self {
        Self {
            address,
            method: method.to_owned(),
            path: path.to_owned(),
            host: address.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Sets the `Host` header.
    pub(crate) fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds the headers of a WebSocket upgrade.
    pub(crate) fn upgrade(self) -> Self {
        self.header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// Sets the body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON message as the body.
    pub(crate) fn json(self, message: &Value) -> Self {
        self.header("content-type", "application/json").body(message.to_string())
    }

    /// Sends the request and reads the response.
    pub(crate) fn send(self) -> HttpResponse {
        let upgrades = self.headers.iter().any(|(name, _)| name == "upgrade");
        let line = self.wire_recorder();
        let mut stream = self.write_to_connection(line.as_ref());
        let response = HttpResponse::read_from(&mut stream, upgrades).expect("an answer");
        if let Some(line) = line {
            response.record_body(line);
        }
        response
    }

    /// Sends the request and returns the response as an event stream.
    pub(crate) fn stream(self) -> EventStream {
        let line = self.wire_recorder();
        EventStream::open(self.write_to_connection(line.as_ref()), line)
    }

    /// Sends the request and returns the connection without reading the response. Dropping it
    /// closes the connection.
    pub(crate) fn send_unread(self) -> TcpStream {
        self.write_to_connection(self.wire_recorder().as_ref())
    }

    fn write_to_connection(&self, line: Option<&WireRecorder>) -> TcpStream {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {}\r\n", self.method, self.path, self.host);
        let upgrades = self.headers.iter().any(|(name, _)| name == "upgrade");
        if !upgrades {
            head.push_str("connection: close\r\n");
        }
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "content-length: {}\r\n\r\n", self.body.len()).unwrap();
        if let (Some(line), [_, ..]) = (line, &*self.body) {
            line.record(MessageSender::Client, &String::from_utf8_lossy(&self.body));
        }
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(REPLY_TIMEOUT)).unwrap();
        // A server may reject a request before it has read all of it.
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&self.body)));
        stream
    }

    /// Returns a recorder for the messages of this request if it goes to `/mcp`.
    pub(crate) fn wire_recorder(&self) -> Option<WireRecorder> {
        let header = |name: &str| {
            let mut headers = self.headers.iter();
            headers.find_map(|(known, value)| (known == name).then_some(value.as_str()))
        };
        let session = header("mcp-session-id").or_else(|| session_id_in_url(&self.path));
        let is_spoken = self.path.split('?').next() == Some("/mcp");
        is_spoken.then(|| {
            WireRecorder::for_transport("http")
                .in_session(session)
                .with_version(header("mcp-protocol-version"))
        })
    }
}

impl HttpResponse {
    /// Reads until the server closes the connection or, for an upgrade, until the end of the
    /// headers.
    fn read_from(stream: &mut TcpStream, head_only: bool) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 * 1_024];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            bytes.extend_from_slice(&piece[..count]);
            if head_only && bytes.windows(4).any(|end| end == b"\r\n\r\n") {
                break;
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Some(Self { status, body: body.to_owned(), headers: lines.filter_map(header).collect() })
    }

    fn record_body(&self, line: WireRecorder) {
        let line = line.in_session(self.header("mcp-session-id")).with_status(self.status);
        if self.header("content-type") == Some("application/json") {
            line.record(MessageSender::Server, &self.body);
        }
    }

    /// Returns the header with this lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns all headers with this lower-case name.
    pub(crate) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.headers.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
