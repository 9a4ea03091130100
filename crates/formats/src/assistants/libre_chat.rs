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

/// A message without its answers, which may be nested deeper than values can be.
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
    #[serde(borrow, default)]
    children: Vec<&'a RawValue>,
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
        // The answers of a message come after it, so that the last leaf is on the last branch.
        let mut waiting: Vec<(&RawValue, String)> =
            export.messages.iter().rev().map(|json| (*json, String::new())).collect();
        while let Some((json, parent)) = waiting.pop() {
            if replies.len() >= MAX_MESSAGES {
                parsed.add_problem("", format!("it has more than {MAX_MESSAGES} messages"));
                break;
            }
            match serde_json::from_str::<Message<'_>>(json.get()) {
                Ok(message) => {
                    let reply = reply_of(&message, &parent, replies.len());
                    let id = reply.message.origin.clone();
                    waiting.extend(message.children.iter().rev().map(|it| (*it, id.clone())));
                    replies.push(reply);
                }
                Err(error) => {
                    parsed.add_problem(format!("message {}", replies.len() + 1), error.to_string());
                }
            }
        }
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
            (0..500).map(|number: usize| open.replace('N', &number.to_string())).collect();
        let (begin, end) = (begin.concat(), "]}".repeat(500));
        let text = format!(r#"{{"conversationId": "l", "messages": [{begin}{end}]}}"#);
        assert_eq!(chats(&parse(&LibreChat, "/a.json", text))[0].messages.len(), 500);
        assert!(try_parse(&LibreChat, "/a.json", "{}").is_err());
    }
}
