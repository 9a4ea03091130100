//! ChatGPT's `conversations.json`.
//!
//! A conversation is a tree: every answer that was asked for again is a
//! branch. What is read is the branch that the user saw last, from
//! `current_node` up through the parents.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::Value;
use vademecum_kit::model::{ChatDraft, MessageDraft, Timestamp};

use super::chats::Conversation;

/// Reads one conversation.
pub(super) fn conversation(json: &str) -> Result<Conversation, serde_json::Error> {
    let tree: Tree = serde_json::from_str(json)?;
    let messages = tree
        .branch()
        .into_iter()
        .filter_map(|(id, node)| node.message.as_ref()?.draft(id))
        .collect();
    let id = tree.conversation_id.or(tree.id).filter(|id| !id.is_empty());
    Ok(Conversation {
        origin: id.map(|id| format!("chatgpt:{id}")),
        chat: ChatDraft {
            title: tree.title.filter(|title| !title.trim().is_empty()),
            service: Some("chatgpt".to_owned()),
            created_at: tree.create_time.and_then(Timestamp::from_unix_seconds),
            modified_at: tree.update_time.and_then(Timestamp::from_unix_seconds),
            messages,
            ..ChatDraft::default()
        },
    })
}

#[derive(Debug, Deserialize)]
struct Tree {
    id: Option<String>,
    conversation_id: Option<String>,
    title: Option<String>,
    create_time: Option<f64>,
    update_time: Option<f64>,
    current_node: Option<String>,
    mapping: BTreeMap<String, Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    parent: Option<String>,
    message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
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

impl Tree {
    /// The nodes of the branch that was seen last, from the root down.
    fn branch(&self) -> Vec<(&str, &Node)> {
        let mut branch = Vec::new();
        let mut seen = HashSet::new();
        let mut next = self.current_node.as_deref();
        if next.is_none_or(|id| !self.mapping.contains_key(id)) {
            next = self.newest_leaf();
        }
        // A parent that was seen before closes a circle.
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            let Some(node) = self.mapping.get(id) else { break };
            branch.push((id, node));
            next = node.parent.as_deref();
        }
        branch.reverse();
        branch
    }

    fn newest_leaf(&self) -> Option<&str> {
        let parents: HashSet<_> =
            self.mapping.values().filter_map(|node| node.parent.as_deref()).collect();
        let time = |node: &Node| {
            node.message.as_ref().and_then(|message| message.create_time).unwrap_or(f64::MIN)
        };
        self.mapping
            .iter()
            .filter(|(id, _)| !parents.contains(id.as_str()))
            .max_by(|(_, one), (_, other)| time(one).total_cmp(&time(other)))
            .map(|(id, _)| id.as_str())
    }
}

impl Message {
    /// The message, unless it was never to be seen.
    fn draft(&self, node_id: &str) -> Option<MessageDraft> {
        if self.is_hidden() {
            return None;
        }
        let content = text_of(self.content.as_ref()?);
        (!content.trim().is_empty()).then(|| MessageDraft {
            origin: self.id.as_deref().unwrap_or(node_id).to_owned(),
            sender: self.sender().to_owned(),
            content,
            sent_at: self.create_time.and_then(Timestamp::from_unix_seconds),
            ..MessageDraft::default()
        })
    }

    fn is_hidden(&self) -> bool {
        let flag = |metadata: &Value| metadata.get("is_visually_hidden_from_conversation").cloned();
        self.metadata.as_ref().and_then(flag) == Some(Value::Bool(true))
    }

    /// The role; of a tool, its name.
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

/// What a message says: its parts, or the one text that it has.
fn text_of(content: &Value) -> String {
    let parts = match content {
        Value::String(text) => vec![text.clone()],
        content => match content.get("parts") {
            Some(Value::Array(parts)) => parts.iter().filter_map(part).collect(),
            _ => only_text(content).into_iter().collect(),
        },
    };
    parts.join("\n\n")
}

fn only_text(content: &Value) -> Option<String> {
    let text = |key| content.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    ["text", "result", "content"].into_iter().find_map(text).map(str::to_owned)
}

fn part(part: &Value) -> Option<String> {
    match part {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => only_text(part).or_else(|| {
            let kind = fields.get("content_type").and_then(Value::as_str).unwrap_or_default();
            Some(marker(kind).to_owned())
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// Stands for what cannot be read.
fn marker(content_type: &str) -> &'static str {
    match content_type {
        kind if kind.contains("image") => "[image]",
        kind if kind.contains("video") => "[video]",
        kind if kind.contains("audio") => "[audio]",
        _ => "[attachment]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(json: &str) -> ChatDraft {
        conversation(json).unwrap().chat
    }

    fn said(chat: &ChatDraft) -> Vec<(&str, &str)> {
        chat.messages.iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect()
    }

    fn node(id: &str, parent: &str, role: &str, time: u32, parts: &str) -> String {
        format!(
            r#""{id}": {{"id": "{id}", "parent": {parent}, "message": {{"id": "m-{id}",
                "author": {{"role": "{role}", "name": null}}, "create_time": {time},
                "content": {{"content_type": "text", "parts": {parts}}}, "metadata": {{}}}}}}"#
        )
    }

    fn tree(current: &str, nodes: &[String]) -> String {
        format!(
            r#"{{"id": "c", "title": "Rye", "create_time": 1704067200.5, "update_time": null,
                "current_node": {current}, "mapping": {{{}}}}}"#,
            nodes.join(",")
        )
    }

    fn branched(current: &str) -> String {
        tree(
            current,
            &[
                r#""root": {"id": "root", "parent": null, "message": null}"#.to_owned(),
                node("a", "\"root\"", "system", 1, r#"[""]"#),
                node("b", "\"a\"", "user", 2, r#"["How?"]"#),
                node("c", "\"b\"", "assistant", 3, r#"["Knead."]"#),
                node("d", "\"b\"", "assistant", 4, r#"["Wait."]"#),
            ],
        )
    }

    #[test]
    fn the_branch_that_was_seen_last_is_read() {
        let chat = chat(&branched("\"c\""));
        assert_eq!(said(&chat), [("user", "How?"), ("assistant", "Knead.")]);
        assert_eq!(chat.title.as_deref(), Some("Rye"));
        assert_eq!(chat.created_at, Timestamp::parse("2024-01-01T00:00:00.5").ok());
        assert_eq!(chat.modified_at, None);
        assert_eq!(chat.messages[0].origin, "m-b");
        assert_eq!(chat.messages[0].sent_at, Timestamp::from_unix_seconds(2.0));
    }

    #[test]
    fn without_a_current_node_the_newest_leaf_is_read() {
        for current in ["null", "\"gone\""] {
            let chat = chat(&branched(current));
            assert_eq!(said(&chat)[1], ("assistant", "Wait."));
        }
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let nodes =
            [node("a", "\"b\"", "user", 1, r#"["1"]"#), node("b", "\"a\"", "user", 2, r#"["2"]"#)];
        assert_eq!(chat(&tree("\"b\"", &nodes)).messages.len(), 2);
        assert_eq!(chat(&tree("null", &nodes)).messages.len(), 0);
    }

    fn message(author: &str, content: &str, metadata: &str) -> ChatDraft {
        chat(&format!(
            r#"{{"current_node": "a", "mapping": {{"a": {{"message": {{"author": {author},
                "create_time": null, "content": {content}, "metadata": {metadata}}}}}}}}}"#
        ))
    }

    #[test]
    fn every_kind_of_content_gives_its_text() {
        let contents = [
            (r#"{"content_type": "text", "parts": ["a", "", "b"]}"#, "a\n\nb"),
            (
                r#"{"content_type": "multimodal_text", "parts": [
                    {"content_type": "image_asset_pointer"}, "What is it?",
                    {"content_type": "audio_transcription", "text": "Say"}, null, {"x": 1}]}"#,
                "[image]\n\nWhat is it?\n\nSay\n\n[attachment]",
            ),
            (r#"{"content_type": "code", "language": "python", "text": "x = 1"}"#, "x = 1"),
            (r#"{"content_type": "execution_output", "text": "1"}"#, "1"),
            (r#"{"content_type": "tether_browsing_display", "result": "Page"}"#, "Page"),
        ];
        for (content, text) in contents {
            let chat = message(r#"{"role": "user"}"#, content, "{}");
            assert_eq!(said(&chat), [("user", text)]);
            assert_eq!((chat.messages[0].origin.as_str(), chat.messages[0].sent_at), ("a", None));
        }
    }

    #[test]
    fn hidden_and_empty_messages_are_passed_by() {
        let hidden = r#"{"is_visually_hidden_from_conversation": true}"#;
        assert!(message("null", r#"{"parts": ["secret"]}"#, hidden).messages.is_empty());
        assert!(message("null", r#"{"parts": [""]}"#, "null").messages.is_empty());
        assert!(
            message("null", r#"{"content_type": "thoughts", "thoughts": []}"#, "{}")
                .messages
                .is_empty()
        );
    }

    #[test]
    fn a_tool_speaks_under_its_name() {
        let sender =
            |author| message(author, r#"{"parts": ["x"]}"#, "{}").messages.remove(0).sender;
        assert_eq!(sender(r#"{"role": "tool", "name": "python"}"#), "python");
        assert_eq!(sender(r#"{"role": "tool", "name": null}"#), "tool");
        assert_eq!(sender(r#"{"role": "user", "name": "ada"}"#), "user");
        assert_eq!(sender("null"), "unknown");
    }
}
