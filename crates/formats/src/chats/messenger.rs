//! Conversations of Instagram and Facebook Messenger: `message_1.json`, newest message first.
//!
//! The exports contain each byte of a UTF-8 text as a character of its own.

use serde::Deserialize;
use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName};

use super::message::{MessageIds, RawMessages, file_label, message};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{list_at, text_at},
    },
};

/// Fields with files of a message.
const FILE_FIELDS: [&str; 5] = ["photos", "videos", "audio_files", "files", "gifs"];

/// Conversations of Instagram and Messenger.
#[derive(Debug)]
pub(crate) struct Messenger;

impl Format for Messenger {
    fn id(&self) -> &'static str {
        "messenger"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of Instagram and Messenger (message_1.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["participants", "sender_name", "timestamp_ms"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let head: Head = serde_json::from_str(&text)?;
        let values = RawMessages::split(&text)?.parse(&mut parsed);
        let mut ids = MessageIds::default();
        let mut messages: Vec<_> = values
            .iter()
            .map(|value| {
                let sent_at = value.get("timestamp_ms").and_then(datetime::parse_json);
                let sender = restore_text(text_at(value, "/sender_name"));
                let mut draft = message(String::new(), &sender, &message_parts(value), sent_at);
                draft.origin = ids.id(&draft);
                draft
            })
            .collect();
        messages.sort_by_key(|message| message.sent_at);
        let names: Vec<_> = list_at(&head.participants, "")
            .iter()
            .map(|it| restore_text(text_at(it, "/name")))
            .collect();
        let title = head.title.as_deref().map(restore_text).filter(|it| !it.trim().is_empty());
        let chat = ChatDraft {
            title: title.or_else(|| Some(names.join(", "))),
            service: Some("messenger".to_owned()),
            messages,
            ..ChatDraft::default()
        };
        // A long conversation has several files, each with the same path of the thread.
        let origin = match head.thread_path {
            Some(thread) => format!("messenger:{thread}/{}", input.stem()),
            None => format!("{}#1", input.origin()),
        };
        parsed.add_chat(origin, chat);
        Ok(parsed)
    }
}

#[derive(Debug, Deserialize)]
struct Head {
    #[serde(default)]
    participants: Value,
    title: Option<String>,
    thread_path: Option<String>,
}

fn message_parts(value: &Value) -> Vec<String> {
    let mut parts = vec![restore_text(text_at(value, "/content"))];
    for field in FILE_FIELDS {
        let files = value.get(field).and_then(Value::as_array).into_iter().flatten();
        parts.extend(files.map(|file| file_label(text_at(file, "/uri"))));
    }
    parts.push(restore_text(text_at(value, "/share/share_text")));
    parts.push(text_at(value, "/share/link").to_owned());
    let reactions = list_at(value, "/reactions").iter();
    let reactions: Vec<_> = reactions
        .map(|it| {
            let who = restore_text(text_at(it, "/actor"));
            format!("{} {who}", restore_text(text_at(it, "/reaction")))
        })
        .collect();
    if !reactions.is_empty() {
        parts.push(format!("(reactions: {})", reactions.join(", ")));
    }
    parts
}

/// Returns a text whose characters are the bytes of UTF-8; any other text is returned unchanged.
fn restore_text(text: &str) -> String {
    let bytes: Option<Vec<u8>> =
        text.chars().map(|next| u8::try_from(u32::from(next)).ok()).collect();
    let restored = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    restored.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse};

    #[test]
    fn conversation_is_in_order_with_restored_text() {
        let json = r#"{"participants": [{"name": "Ad\u00c3\u00a9"}, {"name": "Ben"}], "messages": [
            {"sender_name": "Ben", "timestamp_ms": 1767607260000, "content": "Yes",
             "photos": [{"uri": "a/b/loaf.jpg"}],
             "reactions": [{"reaction": "\u00f0\u009f\u0091\u008d", "actor": "Ben"}]},
            {"sender_name": "Ad\u00c3\u00a9", "timestamp_ms": 1767607200000,
             "content": "caf\u00c3\u00a9?", "share": {"link": "https://example.org"}}],
            "title": "Ad\u00c3\u00a9", "thread_path": "inbox/ade_1"}"#;
        assert!(detects(&Messenger, "/message_1.json", json));
        let parsed = parse(&Messenger, "/message_1.json", json);
        assert_eq!(parsed.drafts[0].origin, "messenger:inbox/ade_1/message_1");
        let chat = chats(&parsed)[0];
        assert_eq!(chat.title.as_deref(), Some("Adé"));
        assert_eq!(
            lines(chat),
            [
                "2026-01-05T10:00 Adé: café?\nhttps://example.org",
                "2026-01-05T10:01 Ben: Yes\n[file: loaf.jpg]\n(reactions: 👍 Ben)",
            ]
        );
    }

    #[test]
    fn text_that_is_no_utf_8_is_kept() {
        assert_eq!(restore_text("naïve"), "naïve");
        assert_eq!(restore_text("日本"), "日本");
    }
}
