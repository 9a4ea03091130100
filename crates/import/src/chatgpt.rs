//! ChatGPT's `conversations.json`.
//!
//! A conversation is a tree: every answer that was asked for again is a
//! branch. The branch that the user saw last leads from `current_node` up
//! through the parents. What is hidden is passed through.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use vademecum_kit::model::{MessageDraft, Timestamp};

use super::{
    conversation::Conversation,
    json::entry,
    parts::marker,
    tree::{Node, branches},
};

/// Reads one conversation.
pub(super) fn conversation(json: &str) -> Result<Conversation, String> {
    let tree: Tree = entry(json)?;
    let id = tree.conversation_id.or(tree.id).filter(|id| !id.is_empty());
    let nodes = tree.mapping.into_iter().map(|(id, place)| Node {
        time: place.message.as_ref().and_then(|message| message.create_time),
        message: place.message.and_then(|message| message.draft(&id)),
        parent: place.parent,
        id,
    });
    Ok(Conversation {
        origin: id.map(|id| format!("chatgpt:{id}")),
        title: tree.title,
        service: Some("chatgpt".to_owned()),
        created_at: tree.create_time.and_then(Timestamp::from_unix_seconds),
        modified_at: tree.update_time.and_then(Timestamp::from_unix_seconds),
        branches: branches(nodes.collect(), tree.current_node.as_deref()),
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
    mapping: BTreeMap<String, Place>,
}

#[derive(Debug, Deserialize)]
struct Place {
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

impl Message {
    /// The message, unless it was never to be seen.
    fn draft(&self, node_id: &str) -> Option<MessageDraft> {
        if self.flag("is_visually_hidden_from_conversation") {
            return None;
        }
        let said = self.content.as_ref().map(text_of).filter(|text| !text.trim().is_empty());
        let content: Vec<String> = said.into_iter().chain(self.attachments()).collect();
        (!content.is_empty()).then(|| MessageDraft {
            origin: self.id.as_deref().unwrap_or(node_id).to_owned(),
            sender: self.sender().to_owned(),
            model: self.model(),
            content: content.join("\n\n"),
            sent_at: self.create_time.and_then(Timestamp::from_unix_seconds),
            ..MessageDraft::default()
        })
    }

    fn noted(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get(key)
    }

    fn flag(&self, key: &str) -> bool {
        self.noted(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The model; what a user says is noted with the one that is to answer.
    fn model(&self) -> Option<String> {
        let role = self.author.as_ref()?.role.as_deref();
        let model = self.noted("model_slug")?.as_str().filter(|model| !model.is_empty())?;
        matches!(role, Some("assistant" | "tool")).then(|| model.to_owned())
    }

    /// The files that came with it, by name; pictures have their place in the
    /// text.
    fn attachments(&self) -> Vec<String> {
        let listed = self.noted("attachments").and_then(Value::as_array);
        let named = listed.into_iter().flatten().filter_map(|file| {
            let kind =
                ["mime_type", "mimeType"].into_iter().find_map(|key| file.get(key)?.as_str());
            let is_picture = kind.is_some_and(|kind| kind.starts_with("image/"));
            file.get("name")?.as_str().filter(|name| !name.is_empty() && !is_picture)
        });
        named.map(|name| format!("[attachment: {name}]")).collect()
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
            _ => only_text(content).or_else(|| thoughts(content)).into_iter().collect(),
        },
    };
    parts.join("\n\n")
}

fn only_text(content: &Value) -> Option<String> {
    let text = |key| content.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    ["text", "result", "content"].into_iter().find_map(text).map(str::to_owned)
}

/// What the model thought before it answered.
fn thoughts(content: &Value) -> Option<String> {
    let thoughts = content.get("thoughts")?.as_array()?;
    let said: Vec<_> = thoughts.iter().filter_map(only_text).collect();
    Some(said.join("\n\n")).filter(|text| !text.is_empty())
}

fn part(part: &Value) -> Option<String> {
    match part {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => only_text(part).or_else(|| {
            let kind = fields.get("content_type").and_then(Value::as_str).unwrap_or_default();
            Some(marker(kind).unwrap_or("[attachment]").to_owned())
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(json: &str) -> Conversation {
        conversation(json).unwrap()
    }

    fn messages(chat: &Conversation) -> &[MessageDraft] {
        chat.branches.branches.first().map(|branch| branch.messages.as_slice()).unwrap_or_default()
    }

    fn said(chat: &Conversation) -> Vec<(&str, &str)> {
        messages(chat).iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect()
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
        assert_eq!(messages(&chat)[0].origin, "m-b");
        assert_eq!(messages(&chat)[0].sent_at, Timestamp::from_unix_seconds(2.0));
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
        assert_eq!(messages(&chat(&tree("\"b\"", &nodes))).len(), 2);
        assert_eq!(chat(&tree("null", &nodes)).branches.lost, 2);
    }

    fn message(author: &str, content: &str, metadata: &str) -> Conversation {
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
            let chat = message(r#"{"role": "user"}"#, content, "{}");
            assert_eq!(said(&chat), [("user", text)]);
            assert_eq!(
                (messages(&chat)[0].origin.as_str(), messages(&chat)[0].sent_at),
                ("a", None)
            );
        }
    }

    #[test]
    fn hidden_and_empty_messages_are_passed_by() {
        let hidden = r#"{"is_visually_hidden_from_conversation": true}"#;
        for (content, metadata) in [
            (r#"{"parts": ["secret"]}"#, hidden),
            (r#"{"parts": [""]}"#, "null"),
            (r#"{"content_type": "thoughts", "thoughts": []}"#, "{}"),
        ] {
            assert!(messages(&message("null", content, metadata)).is_empty());
        }
    }

    #[test]
    fn a_tool_speaks_under_its_name() {
        let sender =
            |author| messages(&message(author, r#"{"parts": ["x"]}"#, "{}"))[0].sender.clone();
        assert_eq!(sender(r#"{"role": "tool", "name": "python"}"#), "python");
        assert_eq!(sender(r#"{"role": "tool", "name": null}"#), "tool");
        assert_eq!(sender(r#"{"role": "user", "name": "ada"}"#), "user");
        assert_eq!(sender("null"), "unknown");
    }

    #[test]
    fn an_answer_keeps_its_model_and_a_question_its_files() {
        let noted = r#"{"model_slug": "one", "attachments": [
            {"name": "rye.pdf", "mime_type": "application/pdf"},
            {"name": "loaf.png", "mimeType": "image/png"}, {"name": ""}, 7]}"#;
        let read = |role: &str| {
            let author = format!(r#"{{"role": "{role}"}}"#);
            let chat = message(&author, r#"{"parts": ["x"]}"#, noted);
            let message = messages(&chat)[0].clone();
            (message.model, message.content)
        };
        assert_eq!(read("assistant").0.as_deref(), Some("one"));
        assert_eq!(read("user"), (None, "x\n\n[attachment: rye.pdf]".to_owned()));
    }
}
