//! Clients that wait for each answer: one connection, one question at a time.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What asks.
#[derive(Debug)]
pub enum Line {
    /// A connection that HTTP keeps.
    Http(Http),
    /// A WebSocket.
    Socket(Socket),
}

impl Line {
    /// Asks, and tells the status (101 on a WebSocket) and what was answered.
    pub fn ask(&mut self, message: &str) -> Result<(u16, String)> {
        match self {
            Self::Http(http) => http.ask(message),
            Self::Socket(socket) => Ok((101, socket.ask(message)?)),
        }
    }
}

/// A connection to a server of HTTP.
#[derive(Debug)]
pub struct Http {
    stream: BufReader<TcpStream>,
    head: String,
    session: Option<String>,
}

impl Http {
    /// Connects; `headers` are whole lines, each with its end.
    pub fn connect(address: &str, headers: &str) -> Result<Self> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json\r\n{headers}"
        );
        Ok(Self { stream: dial(address)?, head, session: None })
    }

    /// Posts a message; goes on in the session that an answer has opened.
    pub fn ask(&mut self, message: &str) -> Result<(u16, String)> {
        let session = self.session.as_deref().unwrap_or_default();
        let request =
            format!("{}{session}content-length: {}\r\n\r\n{message}", self.head, message.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        let status = status.split(' ').nth(1).context("no status")?.parse()?;
        let mut length = 0;
        loop {
            let line = self.line()?;
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

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server hung up");
        Ok(line)
    }
}

/// A WebSocket, for messages of one frame.
#[derive(Debug)]
pub struct Socket {
    stream: BufReader<TcpStream>,
}

/// Kinds of frames.
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// The client's bit: what it sends is masked.
const MASKED: u8 = 0x80;
/// Stands where the length does not fit: it follows in two bytes.
const IN_TWO: u8 = 126;

impl Socket {
    /// Connects; `headers` are whole lines, each with its end.
    pub fn connect(address: &str, headers: &str) -> Result<Self> {
        let mut stream = dial(address)?;
        // Nobody looks whether the key is a new one.
        let request = format!(
            "GET /mcp/ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        stream.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(stream.read_line(&mut head)? > 0, "the server hung up: {head}");
        }
        ensure!(head.starts_with("HTTP/1.1 101"), "no WebSocket: {head}");
        Ok(Self { stream })
    }

    /// Sends a message and reads the next that is an answer.
    pub fn ask(&mut self, message: &str) -> Result<String> {
        self.send(TEXT, message.as_bytes())?;
        loop {
            let (kind, payload) = self.frame()?;
            match kind {
                TEXT => {
                    let text = String::from_utf8(payload)?;
                    // News has a method.
                    if !text.starts_with("{\"jsonrpc\":\"2.0\",\"method\"") {
                        return Ok(text);
                    }
                }
                PING => self.send(PONG, &payload)?,
                CLOSE => bail!("the server closed: {}", String::from_utf8_lossy(&payload)),
                _ => {}
            }
        }
    }

    fn send(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        let mut frame = vec![0x80 | kind];
        let length = payload.len();
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(length), _) if length < IN_TWO => frame.push(MASKED | length),
            (_, Ok(length)) => {
                frame.push(MASKED | IN_TWO);
                frame.extend(length.to_be_bytes());
            }
            _ => bail!("longer than a question should be"),
        }
        // A mask of zeros leaves the payload as it is.
        frame.extend([0; 4]);
        frame.extend(payload);
        Ok(self.stream.get_mut().write_all(&frame)?)
    }

    fn frame(&mut self) -> Result<(u8, Vec<u8>)> {
        let [first, second] = self.bytes::<2>()?;
        ensure!(first & 0x80 != 0, "a message in several frames");
        let length = match second & 0x7f {
            IN_TWO => u16::from_be_bytes(self.bytes()?).into(),
            127 => u64::from_be_bytes(self.bytes()?),
            short => short.into(),
        };
        let mut payload = vec![0; usize::try_from(length)?];
        self.stream.read_exact(&mut payload)?;
        Ok((first & 0x0f, payload))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn dial(address: &str) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}
