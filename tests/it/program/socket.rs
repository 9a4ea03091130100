//! A client over a WebSocket.

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
    Caller, PATIENCE,
    wire::{From, Line, session_in},
};

type Outgoing = Pin<Box<dyn Sink<Message, Error = WsProtocolError>>>;
type Incoming = Pin<Box<dyn Stream<Item = Result<Frame, WsProtocolError>>>>;

/// A client over a WebSocket.
pub(crate) struct Socket {
    system: SystemRunner,
    outgoing: RefCell<Outgoing>,
    incoming: RefCell<Incoming>,
    protocol: Option<String>,
    line: Line,
}

/// What the server sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A message.
    Text(Value),
    /// A ping.
    Ping,
    /// An answer to a ping, with what the ping held.
    Pong(Vec<u8>),
    /// The end, with the reason.
    Closed(Option<CloseCode>),
}

impl Socket {
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
            line: Line::over("websocket").in_session(session_in(url)),
        }
    }

    /// The subprotocol that the server chose.
    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Sends a frame.
    pub(crate) fn write(&self, message: Message) {
        if let Message::Text(text) = &message {
            self.line.record(From::Client, text);
        }
        self.system.block_on(self.outgoing.borrow_mut().send(message)).unwrap();
    }

    /// Sends a message.
    pub(crate) fn send(&self, message: &Value) {
        self.write(Message::Text(message.to_string().into()));
    }

    /// Waits for what comes next, and gives the signs of life it is asked for.
    pub(crate) fn read(&self) -> Received {
        loop {
            match self.frame() {
                Received::Ping => self.write(Message::Pong("".into())),
                other => return other,
            }
        }
    }

    /// Waits for what comes next.
    pub(crate) fn frame(&self) -> Received {
        let mut incoming = self.incoming.borrow_mut();
        let next = self.system.block_on(async { timeout(PATIENCE, incoming.next()).await });
        match next.expect("an answer in time").expect("an open socket").unwrap() {
            Frame::Text(text) => {
                self.line.record(From::Server, str::from_utf8(&text).unwrap());
                Received::Text(serde_json::from_slice(&text).unwrap())
            }
            Frame::Ping(_) => Received::Ping,
            Frame::Pong(payload) => Received::Pong(payload.to_vec()),
            Frame::Close(reason) => Received::Closed(reason.map(|reason| reason.code)),
            frame @ (Frame::Binary(_) | Frame::Continuation(_)) => panic!("unexpected {frame:?}"),
        }
    }

    /// Waits for a message.
    pub(crate) fn message(&self) -> Value {
        match self.read() {
            Received::Text(message) => message,
            other => panic!("expected a message, got {other:?}"),
        }
    }
}

impl Caller for Socket {
    fn exchange(&self, request: &Value) -> Value {
        self.send(request);
        self.message()
    }
}
