//! Conversations of LM Studio: a file each. Of the versions of a message, the selected one counts.

use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName};

use super::reply::{parts_text, reply};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{list_at, parse_entry, text_at},
    },
};

/// Conversations of LM Studio.
#[derive(Debug)]
pub(crate) struct LmStudio;

impl Format for LmStudio {
    fn id(&self) -> &'static str {
        "lm_studio"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "conversations of LM Studio (.conversation.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["messages", "versions", "currentlySelected"])
            || sample.file_name().ends_with(".conversation.json")
                && sample.is_json_with(&["messages"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let chat: Value = parse_entry(&text).map_err(FormatError::new)?;
        // The name of the file is the time of its creation.
        let stem = input.stem();
        let stem = stem.trim_end_matches(".conversation");
        let created = chat.get("createdAt").and_then(datetime::parse_json);
        let created = created.or_else(|| datetime::parse_text(stem)).or(input.modified);
        let model = text_at(&chat, "/lastUsedModel/identifier");
        let messages = (1..).zip(list_at(&chat, "/messages")).map(|(number, message)| {
            let versions = list_at(message, "/versions");
            let selected = message.get("currentlySelected").and_then(Value::as_u64).unwrap_or(0);
            let selected = usize::try_from(selected).unwrap_or(usize::MAX);
            let version = versions.get(selected).or(versions.last()).unwrap_or(message);
            let steps = list_at(version, "/steps").iter();
            let shown = steps.filter(|step| text_at(step, "/style/type") != "thinking");
            let mut parts: Vec<String> = shown.map(|step| parts_text(step, "/content")).collect();
            parts.push(parts_text(version, "/content"));
            parts.retain(|part| !part.trim().is_empty());
            let id = i32::to_string(&number);
            reply(&id, text_at(version, "/role"), &parts.join("\n\n"), None, model)
        });
        let mut parsed = ParsedFormat::default();
        let draft = ChatDraft {
            title: Some(text_at(&chat, "/name").to_owned()),
            service: Some("lm-studio".to_owned()),
            created_at: created,
            messages: messages.collect(),
            ..ChatDraft::default()
        };
        parsed.add_chat(format!("lm-studio:{stem}"), draft);
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    #[test]
    fn selected_version_is_read_without_reasoning() {
        let chat = r#"{"name": "Rye", "createdAt": 1767607200000, "lastUsedModel": {"identifier": "m"},
            "messages": [{"versions": [{"type": "singleStep", "role": "user",
               "content": [{"type": "text", "text": "Rest?"}]}], "currentlySelected": 0},
             {"versions": [{"role": "assistant", "content": [{"type": "text", "text": "No."}]},
               {"type": "multiStep", "role": "assistant", "steps": [
                {"type": "contentBlock", "style": {"type": "thinking"},
                 "content": [{"type": "text", "text": "hidden"}]},
                {"type": "contentBlock", "content": [{"type": "text", "text": "A day."}]}]}],
              "currentlySelected": 1}]}"#;
        let path = "/1767607200000.conversation.json";
        assert!(detects(&LmStudio, path, chat));
        let parsed = parse(&LmStudio, path, chat);
        assert_eq!(parsed.drafts[0].origin, "lm-studio:1767607200000");
        let found = chats(&parsed)[0];
        assert_eq!(lines(found), [" user: Rest?", " assistant: A day."]);
        assert_eq!(found.messages[1].model.as_deref(), Some("m"));
        assert_eq!(found.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert!(try_parse(&LmStudio, path, "[").is_err());
    }
}
