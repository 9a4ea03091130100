//! Messages of all services.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{MessageDraft, Timestamp};

use crate::{
    digest,
    format::{FormatError, ParsedFormat},
    text::json::parse_entry,
};

/// Maximum length of the quoted beginning of a message that is answered, in characters.
const MAX_QUOTE_CHARS: usize = 120;

/// Messages of a JSON file, which are parsed one by one.
#[derive(Debug, Deserialize)]
pub(super) struct RawMessages<'a> {
    #[serde(borrow)]
    pub(super) messages: Vec<&'a RawValue>,
}

impl<'a> RawMessages<'a> {
    /// Splits the field `messages` of an object. Fails if there is none.
    pub(super) fn split(json: &'a str) -> Result<Self, FormatError> {
        Ok(serde_json::from_str(json)?)
    }

    /// Parses the messages. One that is broken becomes a problem.
    pub(super) fn parse(&self, parsed: &mut ParsedFormat) -> Vec<Value> {
        let mut values = Vec::with_capacity(self.messages.len());
        for (number, json) in (1..).zip(&self.messages) {
            match parse_entry(json.get()) {
                Ok(value) => values.push(value),
                Err(reason) => parsed.add_problem(format!("message {number}"), reason),
            }
        }
        values
    }
}

/// Returns a message of these parts, one below the other; blank ones are left out.
pub(super) fn message(
    origin: String,
    sender: &str,
    parts: &[String],
    sent_at: Option<Timestamp>,
) -> MessageDraft {
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    let sender = sender.trim();
    MessageDraft {
        origin,
        sender: if sender.is_empty() { "unknown" } else { sender }.to_owned(),
        content: parts.join("\n"),
        sent_at,
        ..MessageDraft::default()
    }
}

/// Returns the beginning of a message that is answered, as a quotation; empty if it has no text.
pub(super) fn quote(sender: &str, text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('>'));
    let Some(line) = line else { return String::new() };
    let short: String = line.chars().take(MAX_QUOTE_CHARS).collect();
    let dots = if short.len() < line.len() { "…" } else { "" };
    format!("> {sender}: {short}{dots}\n")
}

/// Returns the label of an attached file; empty without a name.
pub(super) fn file_label(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name).trim();
    if name.is_empty() { String::new() } else { format!("[file: {name}]") }
}

/// Makes identifiers for messages of services that export none: the digest of sender, time and text.
/// Equal messages are numbered.
#[derive(Debug, Default)]
pub(super) struct MessageIds(HashMap<String, usize>);

impl MessageIds {
    pub(super) fn id(&mut self, message: &MessageDraft) -> String {
        let time = message.sent_at.map(|it| it.to_string()).unwrap_or_default();
        let parts = [message.sender.as_bytes(), time.as_bytes(), message.content.as_bytes()];
        let id: String = digest("message", parts).chars().take(16).collect();
        let count = self.0.entry(id.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { id } else { format!("{id}-{count}") }
    }
}
