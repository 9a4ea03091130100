//! Claude's `conversations.json`.

use serde::Deserialize;
use serde_json::Value;
use vademecum_kit::model::{ChatDraft, MessageDraft, Timestamp};

use super::chats::Conversation;

/// Longest text that is kept of what a tool was told or answered.
const MAX_TOOL_CHARS: usize = 1000;

/// Reads one conversation.
pub(super) fn conversation(json: &str) -> Result<Conversation, serde_json::Error> {
    let exported: Exported = serde_json::from_str(json)?;
    let messages =
        (1..).zip(exported.chat_messages).filter_map(|(number, message)| message.draft(number));
    Ok(Conversation {
        origin: exported.uuid.filter(|id| !id.is_empty()).map(|id| format!("claude:{id}")),
        chat: ChatDraft {
            title: exported.name.filter(|name| !name.trim().is_empty()),
            service: Some("claude".to_owned()),
            created_at: moment(exported.created_at),
            modified_at: moment(exported.updated_at),
            messages: messages.collect(),
            ..ChatDraft::default()
        },
    })
}

#[derive(Debug, Deserialize)]
struct Exported {
    uuid: Option<String>,
    name: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    chat_messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    uuid: Option<String>,
    sender: Option<String>,
    text: Option<String>,
    content: Option<Vec<Value>>,
    attachments: Option<Vec<Attachment>>,
    created_at: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Attachment {
    file_name: Option<String>,
    extracted_content: Option<String>,
}

impl Message {
    /// The message, unless it says nothing.
    fn draft(self, number: usize) -> Option<MessageDraft> {
        // `text` is the content once more, without what tools did.
        let mut parts: Vec<_> = self.content.iter().flatten().filter_map(part).collect();
        if parts.is_empty() {
            parts.extend(self.text.filter(|text| !text.trim().is_empty()));
        }
        parts.extend(self.attachments.into_iter().flatten().filter_map(Attachment::text));
        (!parts.is_empty()).then(|| MessageDraft {
            origin: self.uuid.unwrap_or_else(|| number.to_string()),
            sender: self.sender.unwrap_or_else(|| "unknown".to_owned()),
            content: parts.join("\n\n"),
            sent_at: moment(self.created_at),
            ..MessageDraft::default()
        })
    }
}

impl Attachment {
    fn text(self) -> Option<String> {
        let text = self.extracted_content.filter(|text| !text.trim().is_empty())?;
        let name = self.file_name.filter(|name| !name.is_empty());
        Some(format!("[attachment: {}]\n{text}", name.as_deref().unwrap_or("unnamed")))
    }
}

fn moment(text: Option<String>) -> Option<Timestamp> {
    Timestamp::parse(&text?).ok()
}

fn part(part: &Value) -> Option<String> {
    match part.get("type").and_then(Value::as_str) {
        Some("tool_use") => Some(tool_use(part)),
        Some("tool_result") => tool_result(part),
        Some(_) | None => ["text", "thinking"].into_iter().find_map(|key| text(part, key)),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// What a tool was told. A document that Claude wrote is told to a tool as
/// well, but is what the user came for, and kept whole.
fn tool_use(part: &Value) -> String {
    let name = text(part, "name").unwrap_or_else(|| "tool".to_owned());
    let Some(input) = part.get("input").filter(|input| !input.is_null()) else {
        return format!("[{name}]");
    };
    match text(input, "content") {
        Some(document) => {
            let title = text(input, "title").map(|title| format!(" {title}")).unwrap_or_default();
            format!("[{name}]{title}\n{document}")
        }
        None => format!("[{name}] {}", shortened(&input.to_string())),
    }
}

fn tool_result(part: &Value) -> Option<String> {
    let name = text(part, "name").unwrap_or_else(|| "tool".to_owned());
    let answer = match part.get("content")? {
        Value::String(answer) => answer.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!answer.trim().is_empty()).then(|| format!("[{name} answered] {}", shortened(&answer)))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TOOL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: &str) -> Option<MessageDraft> {
        let json =
            format!(r#"{{"chat_messages": [{{"uuid": "m", "sender": "human", {fields}}}]}}"#);
        conversation(&json).unwrap().chat.messages.pop()
    }

    fn content(fields: &str) -> String {
        message(fields).unwrap().content
    }

    #[test]
    fn a_conversation_keeps_its_title_times_and_senders() {
        let read = conversation(
            r#"{"uuid": "c1", "name": "Rye", "created_at": "2024-01-12T11:00:00.123456+00:00",
                "updated_at": "2024-01-12T11:30:00Z", "chat_messages": [
                {"uuid": "m1", "sender": "human", "text": "How?", "created_at": "2024-01-12T11:00:00Z"},
                {"uuid": "m2", "sender": "assistant", "text": "Knead.", "attachments": []}]}"#,
        )
        .unwrap();
        assert_eq!(read.origin.as_deref(), Some("claude:c1"));
        let chat = read.chat;
        assert_eq!((chat.title.as_deref(), chat.service.as_deref()), (Some("Rye"), Some("claude")));
        assert_eq!(chat.created_at.unwrap().to_string(), "2024-01-12T11:00:00.123Z");
        assert_eq!(chat.modified_at, Timestamp::parse("2024-01-12T11:30:00Z").ok());
        let senders: Vec<_> = chat.messages.iter().map(|it| it.sender.as_str()).collect();
        assert_eq!(senders, ["human", "assistant"]);
        assert_eq!(chat.messages[0].sent_at, Timestamp::parse("2024-01-12T11:00:00Z").ok());
    }

    #[test]
    fn the_parts_of_a_message_are_its_text() {
        let fields = r#""text": "flat", "content": [{"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Bread."}, {"type": "other"}, {"type": "note", "text": "x"}]"#;
        assert_eq!(content(fields), "Hm.\n\nBread.\n\nx");
        assert_eq!(content(r#""text": "flat", "content": [{"type": "text", "text": ""}]"#), "flat");
        assert_eq!(content(r#""text": "flat", "content": null"#), "flat");
    }

    #[test]
    fn documents_are_kept_whole_and_tools_in_short() {
        let long = "x".repeat(3000);
        let document = format!(
            r#""content": [{{"type": "tool_use", "name": "artifacts",
                "input": {{"title": "Recipe", "content": "{long}"}}}}]"#
        );
        assert_eq!(content(&document), format!("[artifacts] Recipe\n{long}"));
        let search = format!(
            r#""content": [{{"type": "tool_use", "name": "search", "input": {{"query": "{long}"}}}},
                {{"type": "tool_result", "name": "search", "content": [{{"text": "{long}"}}]}}]"#
        );
        let text = content(&search);
        assert!(text.starts_with("[search] {\"query\"") && text.contains("[search answered] xx"));
        assert!(text.len() < 2100, "{}", text.len());
    }

    #[test]
    fn attachments_follow_the_message() {
        let fields = r#""text": "Read this.", "attachments": [
            {"file_name": "a.txt", "extracted_content": "Rye."}, {"file_name": "b.png"}]"#;
        assert_eq!(content(fields), "Read this.\n\n[attachment: a.txt]\nRye.");
    }

    #[test]
    fn a_message_that_says_nothing_is_passed_by() {
        assert!(message(r#""text": " ", "content": []"#).is_none());
    }
}
