//! Messages of a person and of a model, and the path through a tree of them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use vademecum_model::{MessageDraft, Timestamp};

use crate::text::json::{list_at, text_at};

/// A message in a tree: regenerated answers and edited prompts begin branches.
#[derive(Debug)]
pub(super) struct Reply {
    /// Identifier of the message before; empty for the first.
    pub(super) parent: String,
    pub(super) message: MessageDraft,
}

/// Returns a message. `role` is any name of the author; the person has `user` or `human`.
pub(super) fn reply(
    id: &str,
    role: &str,
    text: &str,
    sent_at: Option<Timestamp>,
    model: &str,
) -> MessageDraft {
    let is_person = ["user", "human"].iter().any(|name| role.eq_ignore_ascii_case(name));
    MessageDraft {
        origin: id.to_owned(),
        sender: if is_person { "user" } else { "assistant" }.to_owned(),
        model: (!is_person && !model.is_empty()).then(|| model.to_owned()),
        content: text.trim().to_owned(),
        sent_at,
        ..MessageDraft::default()
    }
}

/// Returns the messages from the first one to `leaf`.
pub(super) fn path_to(leaf: &str, replies: Vec<Reply>) -> Vec<MessageDraft> {
    let mut all: HashMap<String, Reply> =
        replies.into_iter().map(|it| (it.message.origin.clone(), it)).collect();
    let mut path = Vec::new();
    let mut next = leaf.to_owned();
    // A message that is taken cannot be taken again, so that the path ends.
    while let Some(Reply { parent, message }) = all.remove(&next) {
        path.push(message);
        next = parent;
    }
    path.reverse();
    path
}

/// Returns the last message of the branch that was continued last: the last message that no other
/// one follows.
pub(super) fn last_leaf(replies: &[Reply]) -> Option<String> {
    let parents: HashSet<&str> = replies.iter().map(|it| it.parent.as_str()).collect();
    let is_leaf = |it: &&Reply| !parents.contains(it.message.origin.as_str());
    replies.iter().rev().find(is_leaf).map(|it| it.message.origin.clone())
}

/// Returns the text of a content: a text, or a list of parts with texts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part {
                Value::String(text) => text.clone(),
                part if text_at(part, "/type").contains("think") => String::new(),
                part => {
                    let paths = ["/text", "/text/value", "/content"];
                    paths.map(|path| text_at(part, path)).concat()
                }
            });
            texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Returns the texts of the parts of a list, without reasoning.
pub(super) fn parts_text(value: &Value, path: &str) -> String {
    content_text(&Value::Array(list_at(value, path).to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_follows_parents_and_ends_in_a_circle() {
        let at = |id: &str, parent: &str| Reply {
            parent: parent.to_owned(),
            message: reply(id, "Human", "x", None, "m"),
        };
        let replies = || vec![at("a", ""), at("b", "a"), at("c", "a"), at("d", "c")];
        let ids =
            |path: Vec<MessageDraft>| path.into_iter().map(|it| it.origin).collect::<String>();
        assert_eq!(last_leaf(&replies()).unwrap(), "d");
        assert_eq!(ids(path_to("d", replies())), "acd");
        assert_eq!(ids(path_to("b", vec![at("a", "b"), at("b", "a")])), "ab");
        assert_eq!(reply("a", "Human", " x ", None, "m").sender, "user");
    }

    #[test]
    fn reasoning_is_no_text() {
        let content = serde_json::json!(["One", { "type": "text", "text": "Two" },
            { "type": "text", "text": { "value": "Three" } }, { "type": "think", "think": "no" }]);
        assert_eq!(content_text(&content), "One\n\nTwo\n\nThree");
    }
}
