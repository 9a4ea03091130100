//! Parser of ChatGPT's `conversations.json`.
//!
//! A conversation is a tree in which every regenerated answer starts a branch. The branch shown
//! last leads from `current_node` up through the parents. Hidden nodes are skipped.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use vademecum_model::{MessageDraft, Timestamp};

use super::{
    conversation::Conversation,
    conversation_tree::{MessageNode, split_branches},
    message_content::media_marker,
};
use crate::text::json::parse_entry;

/// Parses one conversation.
pub(super) fn parse_conversation(json: &str) -> Result<Conversation, String> {
    let tree: ChatGptConversation = parse_entry(json)?;
    let id = tree.conversation_id.or(tree.id).filter(|id| !id.is_empty());
    let nodes = tree.mapping.into_iter().map(|(id, place)| MessageNode {
        time: place.message.as_ref().and_then(|message| message.create_time),
        message: place.message.and_then(|message| message.to_draft(&id)),
        parent: place.parent,
        id,
    });
    Ok(Conversation {
        origin: id.map(|id| format!("chatgpt:{id}")),
        title: tree.title,
        service: Some("chatgpt".to_owned()),
        created_at: tree.create_time.and_then(Timestamp::from_unix_seconds),
        modified_at: tree.update_time.and_then(Timestamp::from_unix_seconds),
        branches: split_branches(nodes.collect(), tree.current_node.as_deref()),
    })
}

#[derive(Debug, Deserialize)]
struct ChatGptConversation {
    id: Option<String>,
    conversation_id: Option<String>,
    title: Option<String>,
    create_time: Option<f64>,
    update_time: Option<f64>,
    current_node: Option<String>,
    mapping: BTreeMap<String, ChatGptNode>,
}

#[derive(Debug, Deserialize)]
struct ChatGptNode {
    parent: Option<String>,
    message: Option<ChatGptMessage>,
}

#[derive(Debug, Deserialize)]
struct ChatGptMessage {
    id: Option<String>,
    author: Option<Author>,
    create_time: Option<f64>,
    content: Option<Value>,
    metadata: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Author {
    role: Option<String>,
    name: Option<String>,
}

impl ChatGptMessage {
    /// Returns the draft of the message; `None` if it is hidden or empty.
    fn to_draft(&self, node_id: &str) -> Option<MessageDraft> {
        if self.metadata_flag("is_visually_hidden_from_conversation") {
            return None;
        }
        let text = self.content.as_ref().map(message_text).filter(|text| !text.trim().is_empty());
        let content: Vec<String> = text.into_iter().chain(self.attachment_labels()).collect();
        (!content.is_empty()).then(|| MessageDraft {
            origin: self.id.as_deref().unwrap_or(node_id).to_owned(),
            sender: self.sender().to_owned(),
            model: self.model(),
            content: content.join("\n\n"),
            sent_at: self.create_time.and_then(Timestamp::from_unix_seconds),
            ..MessageDraft::default()
        })
    }

    fn metadata_value(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get(key)
    }

    fn metadata_flag(&self, key: &str) -> bool {
        self.metadata_value(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the model of an answer. A user's message names the model that is to answer, which is
    /// not kept.
    fn model(&self) -> Option<String> {
        let role = self.author.as_ref()?.role.as_deref();
        let model =
            self.metadata_value("model_slug")?.as_str().filter(|model| !model.is_empty())?;
        matches!(role, Some("assistant" | "tool")).then(|| model.to_owned())
    }

    /// Returns a label for each attached file. Pictures are left out, because the text contains
    /// their placeholders.
    fn attachment_labels(&self) -> Vec<String> {
        let listed = self.metadata_value("attachments").and_then(Value::as_array);
        let named = listed.into_iter().flatten().filter_map(|file| {
            let kind =
                ["mime_type", "mimeType"].into_iter().find_map(|key| file.get(key)?.as_str());
            let is_picture = kind.is_some_and(|kind| kind.starts_with("image/"));
            file.get("name")?.as_str().filter(|name| !name.is_empty() && !is_picture)
        });
        named.map(|name| format!("[attachment: {name}]")).collect()
    }

    /// Returns the role, or for a tool its name.
    fn sender(&self) -> &str {
        let Some(author) = &self.author else { return "unknown" };
        let named = author.name.as_deref().filter(|name| !name.is_empty());
        match author.role.as_deref() {
            Some("tool") => named.unwrap_or("tool"),
            Some(role) => role,
            None => named.unwrap_or("unknown"),
        }
    }
}

/// Returns the text of a message: its parts, or its only text.
fn message_text(content: &Value) -> String {
    let parts = match content {
        Value::String(text) => vec![text.clone()],
        content => match content.get("parts") {
            Some(Value::Array(parts)) => parts.iter().filter_map(part_text).collect(),
            _ => single_text(content).or_else(|| thoughts_text(content)).into_iter().collect(),
        },
    };
    parts.join("\n\n")
}

fn single_text(content: &Value) -> Option<String> {
    let text = |key| content.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    ["text", "result", "content"].into_iter().find_map(text).map(str::to_owned)
}

/// Returns the reasoning of the model that precedes its answer.
fn thoughts_text(content: &Value) -> Option<String> {
    let thoughts = content.get("thoughts")?.as_array()?;
    let texts: Vec<_> = thoughts.iter().filter_map(single_text).collect();
    Some(texts.join("\n\n")).filter(|text| !text.is_empty())
}

fn part_text(part: &Value) -> Option<String> {
    match part {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => single_text(part).or_else(|| {
            let kind = fields.get("content_type").and_then(Value::as_str).unwrap_or_default();
            Some(media_marker(kind).unwrap_or("[attachment]").to_owned())
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_chat(json: &str) -> Conversation {
        parse_conversation(json).unwrap()
    }

    fn messages(chat: &Conversation) -> &[MessageDraft] {
        chat.branches.branches.first().map(|branch| branch.messages.as_slice()).unwrap_or_default()
    }

    fn senders_and_texts(chat: &Conversation) -> Vec<(&str, &str)> {
        messages(chat).iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect()
    }

    fn node_json(id: &str, parent: &str, role: &str, time: u32, parts: &str) -> String {
        format!(
            r#""{id}": {{"id": "{id}", "parent": {parent}, "message": {{"id": "m-{id}",
                "author": {{"role": "{role}", "name": null}}, "create_time": {time},
                "content": {{"content_type": "text", "parts": {parts}}}, "metadata": {{}}}}}}"#
        )
    }

    fn tree_json(current: &str, nodes: &[String]) -> String {
        format!(
            r#"{{"id": "c", "title": "Rye", "create_time": 1704067200.5, "update_time": null,
                "current_node": {current}, "mapping": {{{}}}}}"#,
            nodes.join(",")
        )
    }

    fn branched_json(current: &str) -> String {
        tree_json(
            current,
            &[
                r#""root": {"id": "root", "parent": null, "message": null}"#.to_owned(),
                node_json("a", "\"root\"", "system", 1, r#"[""]"#),
                node_json("b", "\"a\"", "user", 2, r#"["How?"]"#),
                node_json("c", "\"b\"", "assistant", 3, r#"["Knead."]"#),
                node_json("d", "\"b\"", "assistant", 4, r#"["Wait."]"#),
            ],
        )
    }

    #[test]
    fn last_shown_branch_comes_first() {
        let chat = parse_chat(&branched_json("\"c\""));
        assert_eq!(senders_and_texts(&chat), [("user", "How?"), ("assistant", "Knead.")]);
        assert_eq!(chat.title.as_deref(), Some("Rye"));
        assert_eq!(chat.created_at, Timestamp::parse("2024-01-01T00:00:00.5").ok());
        assert_eq!(chat.modified_at, None);
        assert_eq!(messages(&chat)[0].origin, "m-b");
        assert_eq!(messages(&chat)[0].sent_at, Timestamp::from_unix_seconds(2.0));
    }

    #[test]
    fn newest_leaf_is_used_without_current_node() {
        for current in ["null", "\"gone\""] {
            let chat = parse_chat(&branched_json(current));
            assert_eq!(senders_and_texts(&chat)[1], ("assistant", "Wait."));
        }
    }

    #[test]
    fn cycle_of_parents_terminates() {
        let nodes = [
            node_json("a", "\"b\"", "user", 1, r#"["1"]"#),
            node_json("b", "\"a\"", "user", 2, r#"["2"]"#),
        ];
        assert_eq!(messages(&parse_chat(&tree_json("\"b\"", &nodes))).len(), 2);
        assert_eq!(parse_chat(&tree_json("null", &nodes)).branches.unreachable_messages, 2);
    }

    fn parse_single_message(author: &str, content: &str, metadata: &str) -> Conversation {
        parse_chat(&format!(
            r#"{{"current_node": "a", "mapping": {{"a": {{"message": {{"author": {author},
                "create_time": null, "content": {content}, "metadata": {metadata}}}}}}}}}"#
        ))
    }

    #[test]
    fn text_is_extracted_from_every_content_type() {
        let contents = [
            (r#"{"content_type": "text", "parts": ["a", "", "b"]}"#, "a\n\nb"),
            (
                r#"{"content_type": "multimodal_text", "parts": [
                    {"content_type": "image_asset_pointer"}, "What is it?",
                    {"content_type": "audio_transcription", "text": "Say"}, null, {"x": 1}]}"#,
                "[image]\n\nWhat is it?\n\nSay\n\n[attachment]",
            ),
            (
                r#"{"content_type": "thoughts", "thoughts": [
                    {"summary": "Hm", "content": "Rye?"}, {"content": "Oat?"}]}"#,
                "Rye?\n\nOat?",
            ),
            (r#"{"content_type": "code", "language": "python", "text": "x = 1"}"#, "x = 1"),
            (r#"{"content_type": "execution_output", "text": "1"}"#, "1"),
            (r#"{"content_type": "tether_browsing_display", "result": "Page"}"#, "Page"),
        ];
        for (content, text) in contents {
            let chat = parse_single_message(r#"{"role": "user"}"#, content, "{}");
            assert_eq!(senders_and_texts(&chat), [("user", text)]);
            assert_eq!(
                (messages(&chat)[0].origin.as_str(), messages(&chat)[0].sent_at),
                ("a", None)
            );
        }
    }

    #[test]
    fn hidden_and_empty_messages_are_skipped() {
        let hidden = r#"{"is_visually_hidden_from_conversation": true}"#;
        for (content, metadata) in [
            (r#"{"parts": ["secret"]}"#, hidden),
            (r#"{"parts": [""]}"#, "null"),
            (r#"{"content_type": "thoughts", "thoughts": []}"#, "{}"),
        ] {
            assert!(messages(&parse_single_message("null", content, metadata)).is_empty());
        }
    }

    #[test]
    fn tool_message_has_tool_name_as_sender() {
        let sender = |author| {
            messages(&parse_single_message(author, r#"{"parts": ["x"]}"#, "{}"))[0].sender.clone()
        };
        assert_eq!(sender(r#"{"role": "tool", "name": "python"}"#), "python");
        assert_eq!(sender(r#"{"role": "tool", "name": null}"#), "tool");
        assert_eq!(sender(r#"{"role": "user", "name": "ada"}"#), "user");
        assert_eq!(sender("null"), "unknown");
    }

    #[test]
    fn answer_keeps_model_and_question_keeps_files() {
        let noted = r#"{"model_slug": "one", "attachments": [
            {"name": "rye.pdf", "mime_type": "application/pdf"},
            {"name": "loaf.png", "mimeType": "image/png"}, {"name": ""}, 7]}"#;
        let read = |role: &str| {
            let author = format!(r#"{{"role": "{role}"}}"#);
            let chat = parse_single_message(&author, r#"{"parts": ["x"]}"#, noted);
            let message = messages(&chat)[0].clone();
            (message.model, message.content)
        };
        assert_eq!(read("assistant").0.as_deref(), Some("one"));
        assert_eq!(read("user"), (None, "x\n\n[attachment: rye.pdf]".to_owned()));
    }
}
