//! Parser of Claude's `conversations.json`.
//!
//! Messages form a list. If they also name their parents, the conversation is a tree in which every
//! regenerated answer starts a branch.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;
use vademecum_model::{MessageDraft, Timestamp};

use super::{
    conversation::Conversation,
    conversation_tree::{MessageNode, split_branches},
    message_content::{content_text, text_field},
};
use crate::text::json::parse_entry;

/// Notices that the flat text contains in place of parts that it cannot show.
const UNSUPPORTED_NOTICES: [&str; 2] =
    ["block is not supported on your current device", "yet supported on mobile"];

/// Parses one conversation.
pub(super) fn parse_conversation(json: &str) -> Result<Conversation, String> {
    let exported: ClaudeConversation = parse_entry(json)?;
    let model = exported.model.as_deref().filter(|model| !model.is_empty());
    let mut before: Option<String> = None;
    let nodes = (1..).zip(exported.chat_messages).map(|(number, message)| {
        let id = message.uuid.clone().unwrap_or_else(|| i32::to_string(&number));
        let parent = message.parent_message_uuid.clone().or_else(|| before.take());
        before = Some(id.clone());
        MessageNode {
            parent,
            time: Some(f64::from(number)),
            message: message.into_draft(&id, model),
            id,
        }
    });
    let nodes = nodes.collect();
    Ok(Conversation {
        origin: exported.uuid.filter(|id| !id.is_empty()).map(|id| format!("claude:{id}")),
        title: exported.name,
        service: Some("claude".to_owned()),
        created_at: parse_timestamp(exported.created_at),
        modified_at: parse_timestamp(exported.updated_at),
        branches: split_branches(nodes, exported.current_leaf_message_uuid.as_deref()),
    })
}

#[derive(Debug, Deserialize)]
struct ClaudeConversation {
    uuid: Option<String>,
    name: Option<String>,
    model: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    current_leaf_message_uuid: Option<String>,
    chat_messages: Vec<ClaudeMessage>,
}

#[derive(Debug, Deserialize)]
struct ClaudeMessage {
    uuid: Option<String>,
    parent_message_uuid: Option<String>,
    sender: Option<String>,
    text: Option<String>,
    content: Option<Value>,
    attachments: Option<Vec<Value>>,
    files: Option<Vec<Value>>,
    created_at: Option<String>,
}

impl ClaudeMessage {
    /// Returns the draft of the message, or `None` if it is empty. `model` is the model of the
    /// answers.
    fn into_draft(self, id: &str, model: Option<&str>) -> Option<MessageDraft> {
        let text = self.text.filter(|text| !text.trim().is_empty());
        let mut parts: Vec<_> = match (self.content.as_ref().and_then(content_text), text) {
            (Some(content), Some(text)) => vec![merge_flat_text(content, text)],
            (content, text) => content.or(text).into_iter().collect(),
        };
        parts.extend(self.attachments.iter().flatten().filter_map(attachment_text));
        parts.extend(self.files.iter().flatten().filter_map(file_label));
        let sender = self.sender.unwrap_or_else(|| "unknown".to_owned());
        let model = model.filter(|_| sender == "assistant");
        (!parts.is_empty()).then(|| MessageDraft {
            origin: id.to_owned(),
            model: model.map(str::to_owned),
            sender,
            content: parts.join("\n\n"),
            sent_at: parse_timestamp(self.created_at),
            ..MessageDraft::default()
        })
    }
}

/// Merges the parts of a message with its flat `text` without duplicates. The flat text repeats the
/// parts without tool calls, but may contain paragraphs that occur nowhere else.
fn merge_flat_text(content: String, text: String) -> String {
    let (known, flat) = (distinct_lines(&content), distinct_lines(&text));
    if known.is_subset(&flat) {
        return text;
    }
    let is_new = |paragraph: &&str| {
        !UNSUPPORTED_NOTICES.iter().any(|notice| paragraph.contains(notice))
            && distinct_lines(paragraph).iter().any(|line| !known.contains(line))
    };
    let rest: Vec<&str> = text.split("\n\n").filter(is_new).collect();
    if rest.is_empty() { content } else { format!("{content}\n\n{}", rest.join("\n\n")) }
}

fn distinct_lines(text: &str) -> HashSet<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Returns the label of an attached file, followed by its extracted text if there is any.
fn attachment_text(attachment: &Value) -> Option<String> {
    let name = text_field(attachment, "file_name");
    match (name, text_field(attachment, "extracted_content")) {
        (name, Some(held)) => {
            Some(format!("[attachment: {}]\n{held}", name.as_deref().unwrap_or("unnamed")))
        }
        (Some(name), None) => Some(format!("[attachment: {name}]")),
        (None, None) => None,
    }
}

fn file_label(file: &Value) -> Option<String> {
    text_field(file, "file_name").map(|name| format!("[file: {name}]"))
}

fn parse_timestamp(text: Option<String>) -> Option<Timestamp> {
    Timestamp::parse(&text?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch_messages(chat: Conversation) -> Vec<Vec<MessageDraft>> {
        chat.branches.branches.into_iter().map(|branch| branch.messages).collect()
    }

    fn parse_single_message(fields: &str) -> Option<MessageDraft> {
        let json =
            format!(r#"{{"chat_messages": [{{"uuid": "m", "sender": "human", {fields}}}]}}"#);
        branch_messages(parse_conversation(&json).unwrap()).pop()?.pop()
    }

    fn parse_single_content(fields: &str) -> String {
        parse_single_message(fields).unwrap().content
    }

    #[test]
    fn a_conversation_keeps_its_title_times_and_senders() {
        let read = parse_conversation(
            r#"{"uuid": "c1", "name": "Rye", "created_at": "2024-01-12T11:00:00.123456+00:00",
                "updated_at": "2024-01-12T11:30:00Z", "chat_messages": [
                {"uuid": "m1", "sender": "human", "text": "How?", "created_at": "2024-01-12T11:00:00Z"},
                {"uuid": "m2", "sender": "assistant", "text": "Knead.", "attachments": []}]}"#,
        )
        .unwrap();
        assert_eq!(read.origin.as_deref(), Some("claude:c1"));
        let chat = &read;
        assert_eq!((chat.title.as_deref(), chat.service.as_deref()), (Some("Rye"), Some("claude")));
        assert_eq!(chat.created_at.unwrap().to_string(), "2024-01-12T11:00:00.123Z");
        assert_eq!(chat.modified_at, Timestamp::parse("2024-01-12T11:30:00Z").ok());
        let messages = branch_messages(read).remove(0);
        let senders: Vec<_> = messages.iter().map(|it| it.sender.as_str()).collect();
        assert_eq!(senders, ["human", "assistant"]);
        assert_eq!(messages[0].sent_at, Timestamp::parse("2024-01-12T11:00:00Z").ok());
    }

    #[test]
    fn message_text_consists_of_its_parts() {
        let fields = r#""text": "Bread.\n\nx", "content": [{"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Bread."}, {"type": "other"}, {"type": "note", "text": "x"}]"#;
        assert_eq!(parse_single_content(fields), "Hm.\n\nBread.\n\n[other]\n\nx");
        assert_eq!(
            parse_single_content(r#""text": "flat", "content": [{"type": "text", "text": ""}]"#),
            "flat"
        );
        assert_eq!(parse_single_content(r#""text": "flat", "content": null"#), "flat");
    }

    #[test]
    fn paragraphs_only_in_flat_text_are_kept() {
        let tool = r#"{"type": "tool_use", "name": "draw", "input": {"content": "Oats."}}"#;
        let fields = r#""text": "Look:\n\n```\nThis block is not supported on your current device yet.\n```\n\nOne.\nTwo.",
            "content": [{"type": "text", "text": "Look:"}, TOOL]"#;
        let fields = fields.replace("TOOL", tool);
        assert_eq!(parse_single_content(&fields), "Look:\n\n[draw]\nOats.\n\nOne.\nTwo.");
        let fields =
            r#""text": "First.\n\nLook: ", "content": [{"type": "text", "text": "Look:"}]"#;
        assert_eq!(parse_single_content(fields), "First.\n\nLook: ");
    }

    #[test]
    fn attachments_follow_the_message() {
        let fields = r#""text": "Read this.", "attachments": [
            {"file_name": "a.txt", "extracted_content": "Rye."}, {"file_name": "b.png"}],
            "files": [{"file_name": "c.png"}, {"file_uuid": "x"}]"#;
        let named = "[attachment: a.txt]\nRye.\n\n[attachment: b.png]\n\n[file: c.png]";
        assert_eq!(parse_single_content(fields), format!("Read this.\n\n{named}"));
    }

    #[test]
    fn empty_message_is_skipped() {
        assert!(parse_single_message(r#""text": " ", "content": []"#).is_none());
    }

    #[test]
    fn regenerated_answer_becomes_a_branch() {
        let read = parse_conversation(
            r#"{"model": "one", "current_leaf_message_uuid": "c", "chat_messages": [
                {"uuid": "a", "parent_message_uuid": "0", "sender": "human", "text": "How?"},
                {"uuid": "b", "parent_message_uuid": "a", "sender": "assistant", "text": "So."},
                {"uuid": "c", "parent_message_uuid": "a", "sender": "assistant", "text": "No."}]}"#,
        );
        let branches = read.unwrap().branches.branches;
        assert_eq!(branches[1].fork, Some((0, Some("a".to_owned()))));
        let contents: Vec<Vec<_>> = branches
            .iter()
            .map(|branch| branch.messages.iter().map(|it| it.content.as_str()).collect())
            .collect();
        assert_eq!(contents, [vec!["How?", "No."], vec!["So."]]);
        let models = [&branches[0].messages[0].model, &branches[0].messages[1].model];
        assert_eq!(models, [&None, &Some("one".to_owned())]);
    }

    #[test]
    fn messages_with_same_id_are_both_kept() {
        let read = parse_conversation(
            r#"{"chat_messages": [{"uuid": "a", "text": "1"}, {"uuid": "a", "text": "2"}]}"#,
        );
        let read = read.unwrap().branches;
        let kept: usize = read.branches.iter().map(|branch| branch.messages.len()).sum();
        assert_eq!(kept + read.unreachable_messages, 2);
    }
}
