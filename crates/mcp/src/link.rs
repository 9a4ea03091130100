//! The way back to the client while a request is worked on.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::jsonrpc;

/// Messages that wait for a client before more are held back or dropped.
pub(crate) const WAITING: usize = 64;

/// Where messages go that are no answer: notifications, and requests of ours.
#[derive(Clone, Debug, Default)]
pub struct Link(Option<mpsc::Sender<String>>);

impl Link {
    /// A way back, and the other end of it.
    pub fn open() -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(Some(sender)), receiver)
    }

    /// A way back that others use as well.
    pub fn shared(sender: mpsc::Sender<String>) -> Self {
        Self(Some(sender))
    }

    /// Whether anybody may still read what is sent.
    pub(crate) fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Sends a message when there is room for it; tells whether it went out.
    pub(crate) async fn send(&self, message: String) -> bool {
        match &self.0 {
            Some(sender) => sender.send(message).await.is_ok(),
            None => false,
        }
    }

    /// Sends a message if there is room for it: news of the moment, which is
    /// worth nothing later.
    pub(crate) fn offer(&self, message: String) {
        if let Some(sender) = &self.0 {
            // A client that does not read its news gets fewer of them.
            drop(sender.try_send(message));
        }
    }
}

/// Tells the client how far a request has come.
#[derive(Clone, Debug)]
pub struct Progress {
    link: Link,
    token: Value,
}

impl Progress {
    pub(crate) fn new(link: Link, token: Value) -> Self {
        Self { link, token }
    }

    /// So much of so much is done; what is done last should be `done == total`.
    pub fn report(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        let mut params = json!({ "progressToken": self.token, "progress": done });
        if let Value::Object(fields) = &mut params {
            fields.extend(total.map(|total| ("total".to_owned(), total.into())));
            fields.extend(message.map(|text| ("message".to_owned(), text.into())));
        }
        self.link.offer(jsonrpc::notification("notifications/progress", &params));
    }
}

/// How bad it is, as in syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For those who look for an error.
    Debug,
    /// What is going on.
    Info,
    /// What is worth noticing.
    Notice,
    /// What may lead to an error.
    Warning,
    /// What went wrong.
    Error,
    /// What goes on being wrong.
    Critical,
    /// What must be mended at once.
    Alert,
    /// Nothing works.
    Emergency,
}
