//! Channels of Discord, as JSON of DiscordChatExporter.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName};

use super::message::{RawMessages, file_label, message, quote};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{id_at, list_at, text_at},
    },
};

/// Channels of Discord.
#[derive(Debug)]
pub(crate) struct Discord;

impl Format for Discord {
    fn id(&self) -> &'static str {
        "discord"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "channels of Discord (DiscordChatExporter's .json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["guild", "channel", "exportedAt"])
            || sample.is_json_with(&["guild", "channel", "messages"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let head: Head = serde_json::from_str(&text)?;
        let messages = RawMessages::split(&text)?.parse(&mut parsed);
        let mut texts: HashMap<String, (String, String)> = HashMap::new();
        let mut drafts = Vec::with_capacity(messages.len());
        for (number, value) in (1..).zip(&messages) {
            let id = Some(id_at(value, "/id")).filter(|id| !id.is_empty());
            let id = id.unwrap_or_else(|| usize::to_string(&number));
            let names = ["/author/nickname", "/author/name"].map(|path| text_at(value, path));
            let sender = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
            let content = text_at(value, "/content");
            let answered = texts.get(&id_at(value, "/reference/messageId"));
            let mut parts = vec![answered.map(|(who, what)| quote(who, what)).unwrap_or_default()];
            texts.insert(id.clone(), (sender.to_owned(), content.to_owned()));
            parts.push(content.to_owned());
            parts.extend(additions(value));
            let sent_at = datetime::parse_text(text_at(value, "/timestamp"));
            drafts.push(message(id, sender, &parts, sent_at));
        }
        let guild = text_at(&head.guild, "/name");
        let title = format!("{} ({guild})", text_at(&head.channel, "/name"));
        let id = id_at(&head.channel, "/id");
        let origin =
            if id.is_empty() { format!("{}#1", input.origin()) } else { format!("discord:{id}") };
        let (title, service) = (Some(title), Some("discord".to_owned()));
        let chat = ChatDraft { title, service, messages: drafts, ..ChatDraft::default() };
        parsed.add_excerpt(origin, chat);
        Ok(parsed)
    }
}

#[derive(Debug, Deserialize)]
struct Head {
    guild: Value,
    channel: Value,
}

/// Returns what a message has beside its text: files, embedded pages, reactions, its edit.
fn additions(value: &Value) -> Vec<String> {
    let files = list_at(value, "/attachments").iter();
    let mut parts: Vec<String> = files.map(|it| file_label(text_at(it, "/fileName"))).collect();
    for embed in list_at(value, "/embeds") {
        let (title, url) = (text_at(embed, "/title"), text_at(embed, "/url"));
        parts.push(match (title.is_empty(), url.is_empty()) {
            (false, false) => format!("[{title}]({url})"),
            _ => format!("{title}{url}"),
        });
        parts.push(text_at(embed, "/description").to_owned());
    }
    let reactions = list_at(value, "/reactions").iter().map(|it| {
        let count = it.get("count").and_then(Value::as_u64).unwrap_or(1);
        format!("{} {count}", text_at(it, "/emoji/name"))
    });
    let reactions: Vec<String> = reactions.collect();
    if !reactions.is_empty() {
        parts.push(format!("(reactions: {})", reactions.join(", ")));
    }
    if !text_at(value, "/timestampEdited").is_empty() {
        parts.push("(edited)".to_owned());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    const CHANNEL: &str = r#"{"guild": {"id": "1", "name": "Bakers"}, "channel": {"id": "9",
        "name": "rye"}, "exportedAt": "2026-01-06T00:00:00+00:00", "messages": [
        {"id": "5", "type": "Default", "timestamp": "2026-01-05T11:00:00+01:00", "content": "How long?",
         "author": {"name": "ada", "nickname": "Ada"}},
        {"id": "6", "type": "Reply", "timestamp": "2026-01-05T10:01:00+00:00",
         "timestampEdited": "2026-01-05T10:02:00+00:00", "content": "A day.",
         "author": {"name": "ben"}, "reference": {"messageId": "5"},
         "attachments": [{"fileName": "loaf.png", "url": "x"}],
         "embeds": [{"title": "Rye", "url": "https://example.org", "description": "About rye."}],
         "reactions": [{"emoji": {"name": "👍"}, "count": 2}]}]}"#;

    #[test]
    fn channel_keeps_replies_files_embeds_and_reactions() {
        assert!(detects(&Discord, "/a.json", CHANNEL));
        let parsed = parse(&Discord, "/a.json", CHANNEL);
        assert_eq!(parsed.drafts[0].origin, "discord:9");
        let chat = chats(&parsed)[0];
        assert_eq!(chat.title.as_deref(), Some("rye (Bakers)"));
        assert_eq!(
            lines(chat),
            [
                "2026-01-05T10:00 Ada: How long?",
                "2026-01-05T10:01 ben: > Ada: How long?\nA day.\n[file: loaf.png]\n\
                 [Rye](https://example.org)\nAbout rye.\n(reactions: 👍 2)\n(edited)",
            ]
        );
    }

    #[test]
    fn channel_without_messages_is_rejected() {
        assert!(try_parse(&Discord, "/a.json", r#"{"guild": {}, "channel": {}}"#).is_err());
        let empty = r#"{"guild": {}, "channel": {}, "messages": [{}]}"#;
        assert!(parse(&Discord, "/a.json", empty).problems[0].reason.contains("no messages"));
    }
}
