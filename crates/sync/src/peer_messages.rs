//! The messages between two machines: a line of JSON each.

use std::io::{BufRead, Read as _, Write};

use serde::{Deserialize, Serialize};
use vademecum_model::SourceName;

use crate::{SyncError, exchange_file::MAX_RECORD_BYTES, record::ItemRecord, replica::ReplicaId};

/// Version of the exchange.
pub(crate) const VERSION: u32 = 1;
/// Maximum length of the text of an error of the other machine, in characters.
const MAX_REASON_CHARS: usize = 500;

/// A message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The first message of both sides.
    Hello {
        /// Version of the exchange.
        vademecum_sync: u32,
        /// The machine.
        replica: ReplicaId,
    },
    /// Asks for the items of a database that the asking machine does not have.
    Pull {
        /// Name of the database.
        database: String,
    },
    /// Announces items of a database.
    Push {
        /// Name of the database.
        database: String,
    },
    /// An item.
    Item(Box<ItemRecord>),
    /// The items since the last such message are to be stored and acknowledged.
    Batch,
    /// The items of a batch are stored, except these.
    Stored {
        /// Sources and keys of the items that could not be stored.
        refused: Vec<(SourceName, String)>,
        /// Sources and keys of the items that refer to unknown items, and are to be sent again.
        #[serde(default)]
        waiting: Vec<(SourceName, String)>,
    },
    /// There are no more items.
    End,
    /// The exchange is over.
    Bye,
    /// The exchange cannot continue.
    Failed {
        /// Reason.
        reason: String,
    },
}

/// Two streams to another machine.
#[derive(Debug)]
pub(crate) struct Channel<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Channel<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    /// Sends a message, which may wait in a buffer.
    pub(crate) fn send(&mut self, message: &Message) -> Result<(), SyncError> {
        let mut line =
            serde_json::to_vec(message).map_err(|error| SyncError::Encode(error.into()))?;
        line.push(b'\n');
        self.output.write_all(&line).map_err(SyncError::Connection)
    }

    /// Sends what waits in the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), SyncError> {
        self.output.flush().map_err(SyncError::Connection)
    }

    /// Receives the next message. Fails if the other machine reports an error.
    pub(crate) fn receive(&mut self) -> Result<Message, SyncError> {
        let mut line = Vec::new();
        let limit = u64::try_from(MAX_RECORD_BYTES).unwrap_or(u64::MAX);
        self.input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut line)
            .map_err(SyncError::Connection)?;
        if line.is_empty() {
            return Err(SyncError::Ended);
        }
        if !line.ends_with(b"\n") {
            return Err(SyncError::Protocol("an incomplete message".to_owned()));
        }
        let unknown = |error: serde_json::Error| {
            let text: String = String::from_utf8_lossy(&line).chars().take(80).collect();
            SyncError::Protocol(format!("an unknown message ({error}): {}", text.trim()))
        };
        match serde_json::from_slice(&line).map_err(unknown)? {
            Message::Failed { reason } => {
                Err(SyncError::Remote(reason.chars().take(MAX_REASON_CHARS).collect()))
            }
            message => Ok(message),
        }
    }

    /// Returns the error for a message at the wrong time.
    pub(crate) fn unexpected<T>(message: &Message) -> Result<T, SyncError> {
        let name = match message {
            Message::Hello { .. } => "a second greeting",
            Message::Pull { .. } => "a request for items",
            Message::Push { .. } => "an announcement of items",
            Message::Item(_) => "an item",
            Message::Batch => "the end of a batch",
            Message::Stored { .. } => "an acknowledgement",
            Message::End => "the end of the items",
            Message::Bye => "the end of the exchange",
            Message::Failed { .. } => "an error",
        };
        Err(SyncError::Protocol(format!("{name} at the wrong time")))
    }
}
