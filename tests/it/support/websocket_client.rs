//! An MCP client over WebSocket.

use std::{cell::RefCell, pin::Pin};

use actix_web::rt::{System, SystemRunner, time::timeout};
use awc::{
    Client,
    error::WsProtocolError,
    ws::{CloseCode, Frame, Message},
};
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde_json::Value;

use super::{
    McpClient, REPLY_TIMEOUT,
    wire_recorder::{MessageSender, WireRecorder, session_id_in_url},
};

type Outgoing = Pin<Box<dyn Sink<Message, Error = WsProtocolError>>>;
type Incoming = Pin<Box<dyn Stream<Item = Result<Frame, WsProtocolError>>>>;

/// An MCP client over WebSocket.
pub(crate) struct WebSocketClient {
    system: SystemRunner,
    outgoing: RefCell<Outgoing>,
    incoming: RefCell<Incoming>,
    protocol: Option<String>,
    recorder: WireRecorder,
}

/// A frame received from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReceivedFrame {
    /// A message.
    Text(Value),
    /// A ping.
    Ping,
    /// A pong with its payload.
    Pong(Vec<u8>),
    /// The close frame, with its code.
    Closed(Option<CloseCode>),
}

impl WebSocketClient {
    /// Connects with these headers, offering the subprotocol `mcp`.
    pub(crate) fn open(url: &str, headers: &[(&str, &str)]) -> Self {
        let system = System::new();
        let (response, framed) = system
            .block_on(async {
                let request = Client::new().ws(url).max_frame_size(1 << 24).protocols(["mcp"]);
                let request =
                    headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
                request.connect().await
            })
            .unwrap();
        let protocol = response.headers().get("sec-websocket-protocol");
        let protocol = protocol.map(|value| value.to_str().unwrap().to_owned());
        let (outgoing, incoming) = framed.split();
        Self {
            system,
            outgoing: RefCell::new(Box::pin(outgoing)),
            incoming: RefCell::new(Box::pin(incoming)),
            protocol,
            recorder: WireRecorder::for_transport("websocket").in_session(session_id_in_url(url)),
        }
    }

    /// Returns the subprotocol that the server selected.
    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Sends a frame.
    pub(crate) fn send_frame(&self, message: Message) {
        if let Message::Text(text) = &message {
            self.recorder.record(MessageSender::Client, text);
        }
        self.system.block_on(self.outgoing.borrow_mut().send(message)).unwrap();
    }

    /// Sends a JSON message as a text frame.
    pub(crate) fn send_message(&self, message: &Value) {
        self.send_frame(Message::Text(message.to_string().into()));
    }

    /// Returns the next frame; pings are answered and skipped.
    pub(crate) fn read_frame(&self) -> ReceivedFrame {
        loop {
            match self.read_any_frame() {
                ReceivedFrame::Ping => self.send_frame(Message::Pong("".into())),
                other => return other,
            }
        }
    }

    /// Returns the next frame, including pings.
    pub(crate) fn read_any_frame(&self) -> ReceivedFrame {
        let mut incoming = self.incoming.borrow_mut();
        let next = self.system.block_on(async { timeout(REPLY_TIMEOUT, incoming.next()).await });
        match next.expect("an answer in time").expect("an open socket").unwrap() {
            Frame::Text(text) => {
                self.recorder.record(MessageSender::Server, str::from_utf8(&text).unwrap());
                ReceivedFrame::Text(serde_json::from_slice(&text).unwrap())
            }
            Frame::Ping(_) => ReceivedFrame::Ping,
            Frame::Pong(payload) => ReceivedFrame::Pong(payload.to_vec()),
            Frame::Close(reason) => ReceivedFrame::Closed(reason.map(|reason| reason.code)),
            frame @ (Frame::Binary(_) | Frame::Continuation(_)) => panic!("unexpected {frame:?}"),
        }
    }

    /// Returns the next message; panics on any other frame except pings.
    pub(crate) fn read_message(&self) -> Value {
        match self.read_frame() {
            ReceivedFrame::Text(message) => message,
            other => panic!("expected a message, got {other:?}"),
        }
    }
}

impl McpClient for WebSocketClient {
    fn exchange(&self, request: &Value) -> Value {
        self.send_message(request);
        self.read_message()
    }
}
