//! Reads a server-sent event stream while the server writes it.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::wire_recorder::{MessageSender, WireRecorder};

/// Maximum time between two messages; comments do not count.
const MESSAGE_TIMEOUT: Duration = Duration::from_mins(1);

/// A streamed HTTP response. Dropping it closes the connection.
pub(crate) struct EventStream {
    headers: Vec<(String, String)>,
    lines: BufReader<ChunkedBody>,
    recorder: Option<WireRecorder>,
}

impl EventStream {
    /// Reads the response headers.
    pub(crate) fn open(stream: TcpStream, line: Option<WireRecorder>) -> Self {
        let mut stream = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).expect("an answer in time");
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let header = |line: &String| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Self {
            headers: head.iter().skip(1).filter_map(header).collect(),
            lines: BufReader::new(ChunkedBody { stream, remaining_bytes: 0 }),
            recorder: line,
        }
    }

    /// Returns the header with this lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the next message, or `None` at the end of the stream. Comments are skipped.
    pub(crate) fn try_next_message(&mut self) -> Option<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < MESSAGE_TIMEOUT, "no message before the timeout");
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("an event in time") == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                if let Some(line) = &self.recorder {
                    line.record(MessageSender::Server, data);
                }
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Returns the next comment.
    pub(crate) fn next_comment(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).expect("a comment in time"), 0);
            if let Some(comment) = line.strip_prefix(": ") {
                return comment.trim_end().to_owned();
            }
        }
    }

    /// Returns the next message; panics if the stream has ended.
    pub(crate) fn expect_message(&mut self) -> Value {
        self.try_next_message().expect("a stream that has not ended")
    }

    /// Returns all remaining messages.
    pub(crate) fn remaining_messages(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.try_next_message()).collect()
    }
}

/// Decodes a body in chunked transfer encoding.
struct ChunkedBody {
    stream: BufReader<TcpStream>,
    remaining_bytes: usize,
}

impl Read for ChunkedBody {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.remaining_bytes == 0 {
            let mut length = String::new();
            self.stream.read_line(&mut length)?;
            self.remaining_bytes = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
            if self.remaining_bytes == 0 {
                return Ok(0);
            }
        }
        let most = self.remaining_bytes.min(buffer.len());
        let count = self.stream.read(&mut buffer[..most])?;
        self.remaining_bytes -= count;
        if self.remaining_bytes == 0 {
            // Skips the line break after the chunk.
            self.stream.read_line(&mut String::new())?;
        }
        Ok(count)
    }
}
