//! Conversations of Grok: `prod-grok-backend.json`, also in the ZIP archive of the export.
//!
//! Files beside it hold payments and logins. They are never unpacked.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{ChatDraft, SourceName, Timestamp};

use super::reply::reply;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime, decode_text,
        json::{id_at, list_at, parse_entry, text_at},
    },
};

/// Name of the file of conversations.
const FILE_NAME: &str = "prod-grok-backend.json";

/// Conversations of Grok.
#[derive(Debug)]
pub(crate) struct Grok;

#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow)]
    conversations: Vec<&'a RawValue>,
}

impl Format for Grok {
    fn id(&self) -> &'static str {
        "grok"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of Grok (prod-grok-backend.json, the export's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.packs(FILE_NAME)
            || sample.is_json_with(&["conversations", "conversation", "responses"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let packed = if input.is_zip() {
            input.unpack(|name| name.ends_with(FILE_NAME))?
        } else {
            Vec::new()
        };
        let bytes = packed.first().map_or(input.bytes, |file| file.bytes.as_slice());
        let text = decode_text(bytes, None)?;
        let export: Export<'_> = serde_json::from_str(&text)?;
        let mut parsed = ParsedFormat::default();
        for (number, json) in (1..).zip(export.conversations) {
            match parse_entry::<Value>(json.get()) {
                Ok(chat) => add_chat(&mut parsed, &chat, number),
                Err(reason) => parsed.add_problem(format!("conversation {number}"), reason),
            }
        }
        parsed.or_empty("it has no conversations")
    }
}

fn add_chat(parsed: &mut ParsedFormat, chat: &Value, number: usize) {
    let ids = ["/conversation/id", "/conversation/conversation_id"].map(|path| id_at(chat, path));
    let id = ids.into_iter().find(|id| !id.is_empty());
    let Some(id) = id else {
        return parsed.add_problem(format!("conversation {number}"), "it has no identifier");
    };
    let mut messages = Vec::new();
    for (number, entry) in (1..).zip(list_at(chat, "/responses")) {
        let said = entry.get("response").unwrap_or(entry);
        let own = id_at(said, "/_id");
        let id = if own.is_empty() { i32::to_string(&number) } else { own };
        let (role, text) = (text_at(said, "/sender"), text_at(said, "/message"));
        messages.push(reply(&id, role, text, time(said, "create_time"), text_at(said, "/model")));
    }
    let about = chat.get("conversation").unwrap_or(&Value::Null);
    let draft = ChatDraft {
        title: Some(text_at(about, "/title").to_owned()),
        service: Some("grok".to_owned()),
        created_at: time(about, "create_time"),
        modified_at: time(about, "modify_time"),
        messages,
        ..ChatDraft::default()
    };
    parsed.add_chat(format!("grok:{id}"), draft);
}

/// Returns a time: a text, or `{"$date": {"$numberLong": milliseconds}}`.
fn time(value: &Value, field: &str) -> Option<Timestamp> {
    let value = value.get(field)?;
    let date = value.get("$date").unwrap_or(value);
    datetime::parse_json(date.get("$numberLong").unwrap_or(date))
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    const EXPORT: &str = r#"{"conversations": [{"conversation": {"id": "g", "title": "Rye",
        "create_time": "2026-01-05T10:00:00Z"}, "responses": [
        {"response": {"_id": "a", "message": "Rest?", "sender": "human",
         "create_time": {"$date": {"$numberLong": "1767607200000"}}}},
        {"response": {"_id": "b", "message": "A day.", "sender": "ASSISTANT", "model": "grok-3",
         "thinking_trace": "hidden", "create_time": {"$date": {"$numberLong": "1767607260000"}}}}]},
        {"conversation": {}, "responses": 5}]}"#;

    #[test]
    fn conversation_keeps_model_and_times() {
        let zip = zip_archive(&[
            ("ttl/prod-grok-backend.json", EXPORT.as_bytes()),
            ("ttl/prod-mc-billing.json", b"{}"),
        ]);
        for bytes in [EXPORT.as_bytes(), &zip] {
            assert!(detects(&Grok, "/a.json", bytes));
            let parsed = parse(&Grok, "/a.json", bytes);
            assert_eq!(parsed.drafts[0].origin, "grok:g");
            let chat = chats(&parsed)[0];
            assert_eq!(
                lines(chat),
                ["2026-01-05T10:00 user: Rest?", "2026-01-05T10:01 assistant: A day."]
            );
            assert_eq!(chat.messages[1].model.as_deref(), Some("grok-3"));
            assert_eq!(parsed.problems[0].to_string(), "conversation 2: it has no identifier");
        }
        assert!(try_parse(&Grok, "/a.json", r#"{"conversations": []}"#).is_err());
    }
}
