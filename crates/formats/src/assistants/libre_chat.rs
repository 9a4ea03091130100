//! Conversations of LibreChat: a list of messages, or a tree in which each message has its answers.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{ChatDraft, SourceName};

use super::reply::{Reply, content_text, last_leaf, path_to, reply};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{datetime, json::parse_entry},
};

/// Maximum number of messages.
const MAX_MESSAGES: usize = 20_000;

/// Conversations of LibreChat.
#[derive(Debug)]
pub(crate) struct LibreChat;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    conversation_id: Option<String>,
    title: Option<String>,
    #[serde(borrow, alias = "messagesTree")]
    messages: Vec<&'a RawValue>,
}

/// A message without its answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(rename = "messageId")]
    id: Option<String>,
    parent_message_id: Option<String>,
    sender: Option<String>,
    text: Option<String>,
    model: Option<String>,
    created_at: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_created_by_user: Option<bool>,
}

impl Format for LibreChat {
    fn id(&self) -> &'static str {
        "libre_chat"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of LibreChat (.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let is_message = sample.is_json_with(&["conversationId", "isCreatedByUser"]);
        is_message && (sample.is_json_with(&["messages"]) || sample.is_json_with(&["messagesTree"]))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let export: Export<'_> = serde_json::from_str(&text)?;
        let mut parsed = ParsedFormat::default();
        let mut replies = Vec::new();
        let mut left_out = 0;
        for json in &export.messages {
            let tree = SplitMessage::split_tree(json.get());
            if tree.is_empty() {
                parsed.add_problem(format!("message {}", replies.len() + 1), "it is no object");
            }
            let mut ids: Vec<String> = Vec::with_capacity(tree.len());
            for SplitMessage { json, parent } in tree {
                let parent = parent.and_then(|at| ids.get(at)).cloned().unwrap_or_default();
                if replies.len() >= MAX_MESSAGES {
                    left_out += 1;
                    continue;
                }
                match serde_json::from_str::<Message<'_>>(&json) {
                    Ok(message) => {
                        let reply = reply_of(&message, &parent, replies.len());
                        ids.push(reply.message.origin.clone());
                        replies.push(reply);
                    }
                    Err(error) => {
                        let place = format!("message {}", replies.len() + 1);
                        parsed.add_problem(place, error.to_string());
                        ids.push(parent);
                    }
                }
            }
        }
        let reason = format!("it has more than {MAX_MESSAGES} messages");
        parsed.add_count(left_out, "message", &reason);
        let leaf = last_leaf(&replies).unwrap_or_default();
        let draft = ChatDraft {
            title: export.title,
            service: Some("librechat".to_owned()),
            messages: path_to(&leaf, replies),
            ..ChatDraft::default()
        };
        let id = export.conversation_id.filter(|id| !id.is_empty());
        parsed.add_chat(id.map_or_else(|| input.origin(), |id| format!("librechat:{id}")), draft);
        Ok(parsed)
    }
}

/// A message of a tree, without its answers.
#[derive(Debug, Default)]
struct SplitMessage {
    json: String,
    /// Index of the message that it answers.
    parent: Option<usize>,
}

/// A part of a tree that has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// The message of this index.
    Message(usize),
    /// The answers to the message of this index.
    Answers(usize),
    /// A value in the message of this index.
    Value(usize),
    /// A value among answers that is no message.
    Skipped,
}

impl SplitMessage {
    /// Splits valid JSON, which is a message with its answers, into messages in the order of the tree. Answers may
    /// be nested deeper than values can be, and the time is in proportion to the text.
    fn split_tree(json: &str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let (mut key, mut rest) = ("", json);
        while let Some(sign) = rest.chars().next() {
            let length = if sign == '"' { string_length(rest) } else { sign.len_utf8() };
            let (token, after) = rest.split_at(length);
            rest = after;
            let top = open.last().copied();
            match (sign, top) {
                ('{', None | Some(Open::Answers(_))) => {
                    let parent = top.and_then(|it| match it {
                        Open::Answers(message) => Some(message),
                        _ => None,
                    });
                    open.push(Open::Message(found.len()));
                    found.push(Self { json: String::new(), parent });
                }
                ('[', Some(Open::Message(message))) if key == "\"children\"" => {
                    push(&mut found, &open, "[]");
                    open.push(Open::Answers(message));
                }
                ('{' | '[', Some(Open::Message(message) | Open::Value(message))) => {
                    open.push(Open::Value(message));
                }
                ('{' | '[', _) => open.push(Open::Skipped),
                _ => {}
            }
            push(&mut found, &open, token);
            if matches!(sign, '}' | ']') {
                open.pop();
            }
            match sign {
                '"' => key = token,
                ':' | ' ' | '\n' | '\r' | '\t' => {}
                _ => key = "",
            }
        }
        found
    }
}

/// Adds a part of the text to the message that is open.
fn push(found: &mut [SplitMessage], open: &[Open], token: &str) {
    let Some(Open::Message(message) | Open::Value(message)) = open.last() else { return };
    if let Some(message) = found.get_mut(*message) {
        message.json.push_str(token);
    }
}

/// Returns the length of the string at the beginning of a text, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 1)
}

fn reply_of(message: &Message<'_>, parent: &str, number: usize) -> Reply {
    let role = match message.is_created_by_user {
        Some(true) => "user",
        Some(false) => "assistant",
        None => message.sender.as_deref().unwrap_or_default(),
    };
    let id = message.id.clone().unwrap_or_else(|| number.to_string());
    let content = message.content.and_then(|it| parse_entry::<Value>(it.get()).ok());
    let text = message.text.clone().filter(|text| !text.trim().is_empty());
    let text = text.or_else(|| content.as_ref().map(content_text)).unwrap_or_default();
    let at = message.created_at.as_deref().and_then(datetime::parse_text);
    let model = message.model.as_deref().unwrap_or_default();
    let own = message.parent_message_id.as_deref().filter(|_| parent.is_empty());
    Reply { parent: own.unwrap_or(parent).to_owned(), message: reply(&id, role, &text, at, model) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    fn message(id: &str, parent: &str, user: bool, rest: &str) -> String {
        format!(
            r#"{{"messageId": "{id}", "parentMessageId": "{parent}", "isCreatedByUser": {user},
                "createdAt": "2026-01-05T10:00:00Z", "text": "{id}?"{rest}}}"#
        )
    }

    #[test]
    fn last_branch_of_list_and_tree_is_read() {
        let list = [
            message("a", "0", true, ""),
            message("b", "a", false, ""),
            message("c", "a", false, ""),
        ];
        let list = format!(
            r#"{{"conversationId": "l", "title": "Rye", "messages": [{}]}}"#,
            list.join(",")
        );
        assert!(detects(&LibreChat, "/a.json", &list));
        let parsed = parse(&LibreChat, "/a.json", &list);
        assert_eq!(parsed.drafts[0].origin, "librechat:l");
        let expected = ["2026-01-05T10:00 user: a?", "2026-01-05T10:00 assistant: c?"];
        assert_eq!(lines(chats(&parsed)[0]), expected);
        let children = format!(
            r#", "children": [{}, {}]"#,
            message("b", "a", false, ""),
            message("c", "a", false, "")
        );
        let tree = format!(
            r#"{{"conversationId": "l", "messagesTree": [{}]}}"#,
            message("a", "0", true, &children)
        );
        assert_eq!(lines(chats(&parse(&LibreChat, "/a.json", &tree))[0]), expected);
    }

    #[test]
    fn deep_tree_is_read() {
        let open = r#"{"messageId": "N", "isCreatedByUser": true, "text": "x", "children": ["#;
        let begin: Vec<String> =
            (0..10_000).map(|number: usize| open.replace('N', &number.to_string())).collect();
        let (begin, end) = (begin.concat(), "]}".repeat(10_000));
        let text = format!(r#"{{"conversationId": "l", "messages": [{begin}{end}]}}"#);
        assert_eq!(chats(&parse(&LibreChat, "/a.json", text))[0].messages.len(), 10_000);
        assert!(try_parse(&LibreChat, "/a.json", "{}").is_err());
    }
}
