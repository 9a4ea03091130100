//! HTTP/1.1, written by hand: a test says exactly which headers are sent.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::Value;

use super::{
    Events, PATIENCE,
    wire::{From, Line, session_in},
};

/// A request to be sent on a connection of its own.
pub(crate) struct Request<'a> {
    address: &'a str,
    method: String,
    path: String,
    host: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) status: u16,
    /// What was sent.
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl<'a> Request<'a> {
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

    /// With this in the `Host` header.
    pub(crate) fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// With this header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the headers that open a WebSocket.
    pub(crate) fn upgrade(self) -> Self {
        self.header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// With this body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With this message as the body.
    pub(crate) fn json(self, message: &Value) -> Self {
        self.header("content-type", "application/json").body(message.to_string())
    }

    /// Sends it and reads the answer.
    pub(crate) fn send(self) -> Response {
        let upgrades = self.headers.iter().any(|(name, _)| name == "upgrade");
        let line = self.line();
        let mut stream = self.write(line.as_ref());
        let response = Response::read(&mut stream, upgrades).expect("an answer");
        if let Some(line) = line {
            response.record(line);
        }
        response
    }

    /// Sends it and reads what is answered event by event.
    pub(crate) fn stream(self) -> Events {
        let line = self.line();
        Events::begin(self.write(line.as_ref()), line)
    }

    /// Sends it; the answer is still to be read. Dropping it hangs up.
    pub(crate) fn begin(self) -> TcpStream {
        self.write(self.line().as_ref())
    }

    fn write(&self, line: Option<&Line>) -> TcpStream {
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
            line.record(From::Client, &String::from_utf8_lossy(&self.body));
        }
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A server may refuse a request before it was sent whole.
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&self.body)));
        stream
    }

    /// The line that its messages pass over, if they are messages.
    pub(crate) fn line(&self) -> Option<Line> {
        let header = |name: &str| {
            let mut headers = self.headers.iter();
            headers.find_map(|(known, value)| (known == name).then_some(value.as_str()))
        };
        let session = header("mcp-session-id").or_else(|| session_in(&self.path));
        let is_spoken = self.path.split('?').next() == Some("/mcp");
        is_spoken.then(|| {
            Line::over("http").in_session(session).of_version(header("mcp-protocol-version"))
        })
    }
}

impl Response {
    /// Reads until the other side hangs up or, for an upgrade, until the end
    /// of the headers.
    fn read(stream: &mut TcpStream, head_only: bool) -> Option<Self> {
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

    fn record(&self, line: Line) {
        let line = line.in_session(self.header("mcp-session-id")).with_status(self.status);
        if self.header("content-type") == Some("application/json") {
            line.record(From::Server, &self.body);
        }
    }

    /// The header of that name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
