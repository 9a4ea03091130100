//! Conversations of Google Chat from Takeout: a `messages.json` for each.

use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName};

use super::message::{MessageIds, RawMessages, file_label, message, quote};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        json::{list_at, text_at},
        local_date,
    },
};

/// Conversations of Google Chat.
#[derive(Debug)]
pub(crate) struct GoogleChat;

impl Format for GoogleChat {
    fn id(&self) -> &'static str {
        "google_chat"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of Google Chat (messages.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["messages", "creator", "created_date"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let values = RawMessages::split(&text)?.parse(&mut parsed);
        let mut ids = MessageIds::default();
        let mut names: Vec<String> = Vec::new();
        let mut undated = 0;
        let messages = values.iter().map(|value| {
            let sender = text_at(value, "/creator/name");
            if !sender.is_empty() && !names.iter().any(|name| name == sender) {
                names.push(sender.to_owned());
            }
            let sent_at = local_date::parse(text_at(value, "/created_date"));
            undated += usize::from(sent_at.is_none());
            let id = text_at(value, "/message_id").to_owned();
            let mut draft = message(id, sender, &message_parts(value), sent_at);
            if draft.origin.is_empty() {
                draft.origin = ids.id(&draft);
            }
            draft
        });
        let messages: Vec<_> = messages.collect();
        let chat = ChatDraft {
            title: Some(names.iter().take(5).cloned().collect::<Vec<_>>().join(", ")),
            service: Some("google-chat".to_owned()),
            messages,
            ..ChatDraft::default()
        };
        // The first part of a message's identifier is that of the conversation.
        let first = values.first().map(|it| text_at(it, "/message_id")).unwrap_or_default();
        let origin = match first.split_once('/') {
            Some((group, _)) => format!("google-chat:{group}"),
            None => format!("{}#1", input.origin()),
        };
        parsed.add_count(undated, "message", "the date is in an unknown language");
        parsed.add_chat(origin, chat);
        Ok(parsed)
    }
}

fn message_parts(value: &Value) -> Vec<String> {
    let quoted = |field: &str| text_at(value, &format!("/quoted_message_metadata{field}"));
    let mut parts = vec![quote(quoted("/creator/name"), quoted("/text"))];
    parts.push(text_at(value, "/text").to_owned());
    for file in list_at(value, "/attached_files") {
        parts.push(file_label(text_at(file, "/original_name")));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse};

    #[test]
    fn conversation_keeps_senders_dates_and_files() {
        let json = r#"{"messages": [
            {"creator": {"name": "Ada", "email": "a@example.org"}, "text": "Rye?",
             "created_date": "Monday, January 5, 2026 at 10:00:00\u202fAM UTC", "topic_id": "t",
             "message_id": "g/t/m1"},
            {"creator": {"name": "Ben"}, "text": "Yes.", "message_id": "g/t/m2",
             "created_date": "Montag, 5. Januar 2026 um 22:01:00 UTC",
             "quoted_message_metadata": {"creator": {"name": "Ada"}, "text": "Rye?"},
             "attached_files": [{"original_name": "loaf.png", "export_name": "File-loaf.png"}]},
            {"creator": {"name": "Ben"}, "text": "?", "created_date": "someday"}]}"#;
        assert!(detects(&GoogleChat, "/messages.json", json));
        let parsed = parse(&GoogleChat, "/messages.json", json);
        assert_eq!(parsed.drafts[0].origin, "google-chat:g");
        let chat = chats(&parsed)[0];
        assert_eq!(chat.title.as_deref(), Some("Ada, Ben"));
        assert_eq!(
            lines(chat)[..2],
            [
                "2026-01-05T10:00 Ada: Rye?",
                "2026-01-05T22:01 Ben: > Ada: Rye?\n\nYes.\n[file: loaf.png]",
            ]
            .map(|it| it.replace("\n\n", "\n"))
        );
        assert_eq!(parsed.problems[0].place, "1 message");
    }
}
