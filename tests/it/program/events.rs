//! What a server says on a stream, event by event, while it says it.

use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::wire::{From, Line};

/// How long a stream may give nothing but signs of life.
const PATIENCE: Duration = Duration::from_mins(1);

/// A response that is read while it is written. Dropping it hangs up.
pub(crate) struct Events {
    headers: Vec<(String, String)>,
    lines: BufReader<Chunks>,
    line: Option<Line>,
}

impl Events {
    /// Reads the head of a response.
    pub(crate) fn begin(stream: TcpStream, line: Option<Line>) -> Self {
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
            lines: BufReader::new(Chunks { stream, left: 0 }),
            line,
        }
    }

    /// The header of that name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The next message; none when the stream has ended. Comments are passed over.
    pub(crate) fn next(&mut self) -> Option<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "nothing but signs of life");
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("an event in time") == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                if let Some(line) = &self.line {
                    line.record(From::Server, data);
                }
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// The next comment.
    pub(crate) fn comment(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).expect("a comment in time"), 0);
            if let Some(comment) = line.strip_prefix(": ") {
                return comment.trim_end().to_owned();
            }
        }
    }

    /// The next message, which must come.
    pub(crate) fn message(&mut self) -> Value {
        self.next().expect("a stream that goes on")
    }

    /// All messages that are still to come.
    pub(crate) fn rest(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// A body in chunks, without their lengths.
struct Chunks {
    stream: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut length = String::new();
            self.stream.read_line(&mut length)?;
            self.left = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = self.left.min(buffer.len());
        let count = self.stream.read(&mut buffer[..most])?;
        self.left -= count;
        if self.left == 0 {
            // The end of the line after the chunk.
            self.stream.read_line(&mut String::new())?;
        }
        Ok(count)
    }
}
