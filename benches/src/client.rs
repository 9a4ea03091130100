//! Synchronous clients: one connection with one request at a time.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// Maximum time to wait for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Returns a request of the protocol.
pub fn rpc_message(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// Returns a call of a tool.
pub fn tool_call(tool: &str, arguments: &Value) -> String {
    rpc_message("tools/call", &json!({ "name": tool, "arguments": arguments }))
}

/// A connection of either kind.
#[derive(Debug)]
pub enum ClientConnection {
    /// A persistent HTTP connection.
    Http(HttpClient),
    /// A WebSocket.
    WebSocket(WebSocketClient),
}

impl ClientConnection {
    /// Sends a request and returns the status (101 for a WebSocket) and the response.
    pub fn send_request(&mut self, message: &str) -> Result<(u16, String)> {
        match self {
            Self::Http(http) => http.send_request(message),
            Self::WebSocket(socket) => Ok((101, socket.send_request(message)?)),
        }
    }
}

/// A persistent HTTP connection.
#[derive(Debug)]
pub struct HttpClient {
    stream: BufReader<TcpStream>,
    head: String,
    session: Option<String>,
}

impl HttpClient {
    /// Connects. `headers` are complete lines, each with its line end.
    pub fn connect(address: &str, headers: &str) -> Result<Self> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json\r\n{headers}"
        );
        Ok(Self { stream: connect_stream(address)?, head, session: None })
    }

    /// Posts a message and returns the status and the body. Continues the session that a response
    /// opened.
    pub fn send_request(&mut self, message: &str) -> Result<(u16, String)> {
        let session = self.session.as_deref().unwrap_or_default();
        let request =
            format!("{}{session}content-length: {}\r\n\r\n{message}", self.head, message.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.read_line()?;
        let status = status.split(' ').nth(1).context("no status")?.parse()?;
        let mut length = 0;
        loop {
            let line = self.read_line()?;
            if line == "\r\n" {
                break;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if lower.starts_with("mcp-session-id:") {
                self.session = Some(line);
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok((status, String::from_utf8(answer)?))
    }

    /// Posts a message and returns the body. Fails if the response is an error.
    pub fn call(&mut self, message: &str) -> Result<String> {
        Ok(self.timed_call(message)?.0)
    }

    /// Posts a message and returns the body, and the time until it arrived. Fails if the response is
    /// an error.
    pub fn timed_call(&mut self, message: &str) -> Result<(String, Duration)> {
        let began = Instant::now();
        let (status, answer) = self.send_request(message)?;
        let took = began.elapsed();
        ensure!(status == 200, "status {status}: {answer}");
        let reply: Value = serde_json::from_str(&answer)?;
        let result = reply.get("result").with_context(|| answer.clone())?;
        ensure!(result["isError"] != true, "{answer}");
        Ok((answer, took))
    }

    /// Returns the header of the session that a response opened, with its line end.
    pub fn session_header(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line)
    }
}

/// A WebSocket client for messages of one frame.
#[derive(Debug)]
pub struct WebSocketClient {
    stream: BufReader<TcpStream>,
}

/// Opcodes of frames.
const OPCODE_TEXT: u8 = 1;
const OPCODE_CLOSE: u8 = 8;
const OPCODE_PING: u8 = 9;
const OPCODE_PONG: u8 = 10;
/// The mask bit, which clients must set.
const MASK_BIT: u8 = 0x80;
/// Length code for a 16-bit length in the next two bytes.
const LENGTH_IN_TWO_BYTES: u8 = 126;

impl WebSocketClient {
    /// Connects. `headers` are complete lines, each with its line end.
    pub fn connect(address: &str, headers: &str) -> Result<Self> {
        let mut stream = connect_stream(address)?;
        // The handshake key need not be random, since the server does not check it.
        let request = format!(
            "GET /mcp/ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        stream.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(stream.read_line(&mut head)? > 0, "the server closed the connection: {head}");
        }
        ensure!(head.starts_with("HTTP/1.1 101"), "WebSocket handshake failed: {head}");
        Ok(Self { stream })
    }

    /// Sends a message and returns the next response. Notifications are skipped.
    pub fn send_request(&mut self, message: &str) -> Result<String> {
        self.send_frame(OPCODE_TEXT, message.as_bytes())?;
        loop {
            let (kind, payload) = self.read_frame()?;
            match kind {
                OPCODE_TEXT => {
                    let text = String::from_utf8(payload)?;
                    // Only notifications and requests have a method.
                    if !text.starts_with("{\"jsonrpc\":\"2.0\",\"method\"") {
                        return Ok(text);
                    }
                }
                OPCODE_PING => self.send_frame(OPCODE_PONG, &payload)?,
                OPCODE_CLOSE => bail!("the server closed: {}", String::from_utf8_lossy(&payload)),
                _ => {}
            }
        }
    }

    fn send_frame(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        let mut frame = vec![0x80 | kind];
        let length = payload.len();
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(length), _) if length < LENGTH_IN_TWO_BYTES => frame.push(MASK_BIT | length),
            (_, Ok(length)) => {
                frame.push(MASK_BIT | LENGTH_IN_TWO_BYTES);
                frame.extend(length.to_be_bytes());
            }
            _ => bail!("request is longer than 65535 bytes"),
        }
        // A mask of zeros leaves the payload unchanged.
        frame.extend([0; 4]);
        frame.extend(payload);
        Ok(self.stream.get_mut().write_all(&frame)?)
    }

    fn read_frame(&mut self) -> Result<(u8, Vec<u8>)> {
        let [first, second] = self.read_bytes::<2>()?;
        ensure!(first & 0x80 != 0, "fragmented messages are not supported");
        let length = match second & 0x7f {
            LENGTH_IN_TWO_BYTES => u16::from_be_bytes(self.read_bytes()?).into(),
            127 => u64::from_be_bytes(self.read_bytes()?),
            short => short.into(),
        };
        let mut payload = vec![0; usize::try_from(length)?];
        self.stream.read_exact(&mut payload)?;
        Ok((first & 0x0f, payload))
    }

    fn read_bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn connect_stream(address: &str) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    Ok(BufReader::new(stream))
}
