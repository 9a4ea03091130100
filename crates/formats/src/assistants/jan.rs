//! Conversations of Jan: the file of a thread's messages, a line of JSON each.

use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName};

use super::reply::{content_text, reply};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{id_at, parse_entry, text_at},
    },
};

/// Conversations of Jan.
#[derive(Debug)]
pub(crate) struct Jan;

impl Format for Jan {
    fn id(&self) -> &'static str {
        "jan"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of Jan (messages.jsonl)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["thread_id", "role", "content", "thread.message"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let (mut messages, mut thread) = (Vec::new(), String::new());
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let value: Value = match parse_entry(line) {
                Ok(value) => value,
                Err(reason) => {
                    parsed.add_problem(format!("line {number}"), reason);
                    continue;
                }
            };
            if thread.is_empty() {
                thread = id_at(&value, "/thread_id");
            }
            let own = id_at(&value, "/id");
            let id = if own.is_empty() { i32::to_string(&number) } else { own };
            let said = content_text(value.get("content").unwrap_or(&Value::Null));
            let at = value.get("created_at").and_then(datetime::parse_json);
            messages.push(reply(
                &id,
                text_at(&value, "/role"),
                &said,
                at,
                text_at(&value, "/model"),
            ));
        }
        let first = messages.iter().find(|it| it.sender == "user");
        let title = first.and_then(|it| it.content.lines().next()).map(str::to_owned);
        let draft =
            ChatDraft { title, service: Some("jan".to_owned()), messages, ..ChatDraft::default() };
        let origin = if thread.is_empty() { input.origin() } else { format!("jan:{thread}") };
        parsed.add_chat(origin, draft);
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse};

    #[test]
    fn messages_are_read_and_broken_line_is_problem() {
        let text = concat!(
            r#"{"id":"1","object":"thread.message","thread_id":"t","role":"user","content":[{"type":"text","text":{"value":"Rest?"}}],"created_at":1767607200}"#,
            "\n{\n",
            r#"{"id":"2","object":"thread.message","thread_id":"t","role":"assistant","content":[{"type":"text","text":{"value":"A day."}}],"created_at":1767607260000}"#,
        );
        assert!(detects(&Jan, "/messages.jsonl", text));
        let parsed = parse(&Jan, "/messages.jsonl", text);
        assert_eq!(parsed.drafts[0].origin, "jan:t");
        let chat = chats(&parsed)[0];
        assert_eq!(
            lines(chat),
            ["2026-01-05T10:00 user: Rest?", "2026-01-05T10:01 assistant: A day."]
        );
        assert_eq!((chat.title.as_deref(), parsed.problems.len()), (Some("Rest?"), 1));
    }
}
