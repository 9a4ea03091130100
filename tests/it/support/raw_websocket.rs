//! A low-level WebSocket client: a test controls which bytes are sent and when bytes are read.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
};

use serde_json::Value;

use super::{REPLY_TIMEOUT, Server};

/// A WebSocket connection on which a test sends individual frames.
pub(crate) struct RawWebSocket {
    stream: TcpStream,
}

/// WebSocket frame opcode (RFC 6455, section 5.2).
#[derive(Clone, Copy)]
pub(crate) enum Opcode {
    Continuation = 0,
    Text = 1,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl RawWebSocket {
    /// Connects to the server and completes the upgrade.
    pub(crate) fn open(server: &Server) -> Self {
        let mut stream = server.request("GET", "/mcp/ws").upgrade().send_unread();
        stream.set_write_timeout(Some(REPLY_TIMEOUT)).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Self { stream }
    }

    /// Sends raw bytes.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a message as one text frame.
    pub(crate) fn send_message(&mut self, message: &Value) -> io::Result<()> {
        self.send_bytes(&encode_frame(Opcode::Text, true, message.to_string().as_bytes()))
    }

    /// Returns the next message; control frames are skipped.
    pub(crate) fn read_message(&mut self) -> Value {
        loop {
            let (opcode, payload) = self.read_frame();
            if opcode == Opcode::Text as u8 {
                return serde_json::from_slice(&payload).unwrap();
            }
            assert!(opcode >= Opcode::Ping as u8, "{opcode}");
        }
    }

    /// Returns the code and the reason with which the server closes the connection, or `None` if it
    /// answers a ping instead.
    pub(crate) fn read_close(&mut self) -> Option<(u16, String)> {
        loop {
            let (opcode, payload) = self.read_frame();
            if opcode == Opcode::Pong as u8 {
                return None;
            }
            if opcode == Opcode::Close as u8 {
                let (code, reason) = payload.split_at(2);
                let code = u16::from_be_bytes(code.try_into().unwrap());
                return Some((code, String::from_utf8(reason.to_vec()).unwrap()));
            }
        }
    }

    fn read_frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => self.read_length(2),
            127 => self.read_length(8),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).unwrap();
        (head[0] & 0x0f, payload)
    }

    fn read_length(&mut self, bytes: usize) -> u64 {
        let mut number = vec![0; bytes];
        self.stream.read_exact(&mut number).unwrap();
        number.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }
}

/// Encodes a client frame. Its masking key is zero, so the payload is unchanged.
pub(crate) fn encode_frame(opcode: Opcode, is_last: bool, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![opcode as u8 | if is_last { 0x80 } else { 0 }];
    match u16::try_from(payload.len()) {
        Ok(short @ 0..=125) => frame.push(0x80 | u8::try_from(short).unwrap()),
        Ok(length) => {
            frame.push(0x80 | 0x7e);
            frame.extend(length.to_be_bytes());
        }
        Err(_) => {
            frame.push(0x80 | 0x7f);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}
