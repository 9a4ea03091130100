//! Outbound messages to the client while a request is being processed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{limits::InFlightBytes, message::jsonrpc};

/// Capacity of the outbound message queue. When it is full, senders wait or drop the message.
pub(crate) const OUTBOUND_QUEUE_CAPACITY: usize = 64;

/// A message to the client.
#[derive(Debug)]
pub struct OutboundMessage {
    /// Text of the message.
    pub text: String,
    /// Bytes of a reply, in flight until it is sent. Other messages are short, and not counted.
    pub in_flight: Option<InFlightBytes>,
}

impl From<String> for OutboundMessage {
    fn from(text: String) -> Self {
        Self { text, in_flight: None }
    }
}

/// Sender for messages other than the reply: notifications and server requests. The default has no
/// receiver.
#[derive(Clone, Debug, Default)]
pub struct Outbound(Option<mpsc::Sender<OutboundMessage>>);

impl Outbound {
    /// Creates an outbound sender and the receiver of its messages.
    pub fn channel() -> (Self, mpsc::Receiver<OutboundMessage>) {
        let (sender, receiver) = mpsc::channel(OUTBOUND_QUEUE_CAPACITY);
        (Self(Some(sender)), receiver)
    }

    /// Creates an outbound sender over an existing channel.
    pub fn from_sender(sender: mpsc::Sender<OutboundMessage>) -> Self {
        Self(Some(sender))
    }

    /// Returns `true` while a receiver exists.
    pub(crate) fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Sends a message, waiting while the queue is full. Returns `false` if there is no receiver.
    pub(crate) async fn send(&self, message: String) -> bool {
        match &self.0 {
            Some(sender) => sender.send(message.into()).await.is_ok(),
            None => false,
        }
    }

    /// Sends a message only if the queue has room. Use it for messages that lose their value when
    /// late, such as progress.
    pub(crate) fn try_send(&self, message: String) {
        if let Some(sender) = &self.0 {
            // A slow reader misses such messages instead of blocking the request.
            drop(sender.try_send(message.into()));
        }
    }
}

/// Sends `notifications/progress` for one request.
#[derive(Clone, Debug)]
pub struct ProgressReporter {
    outbound: Outbound,
    token: Value,
}

impl ProgressReporter {
    pub(crate) fn new(outbound: Outbound, token: Value) -> Self {
        Self { outbound, token }
    }

    /// Reports that `done` of `total` units are finished. The last report should have `done ==
    /// total`.
    pub fn report(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let mut params = json!({ "progressToken": self.token, "progress": done });
        if let Value::Object(fields) = &mut params {
            fields.extend(total.map(|total| ("total".to_owned(), total.into())));
            fields.extend(message.map(|text| ("message".to_owned(), text.into())));
        }
        self.outbound.try_send(jsonrpc::notification("notifications/progress", &params));
    }
}

/// Severity of a log message, as in syslog (RFC 5424), least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Debugging details.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant.
    Notice,
    /// May lead to an error.
    Warning,
    /// An operation failed.
    Error,
    /// A component keeps failing.
    Critical,
    /// Immediate action is required.
    Alert,
    /// The system is unusable.
    Emergency,
}
