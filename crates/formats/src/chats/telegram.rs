//! Telegram's `result.json`: one chat, or all chats of an account.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{ChatDraft, SourceName, Timestamp};

use super::message::{RawMessages, file_label, message, quote};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{id_at, list_at, text_at, texts_at},
    },
};

/// Chats of Telegram.
#[derive(Debug)]
pub(crate) struct Telegram;

impl Format for Telegram {
    fn id(&self) -> &'static str {
        "telegram"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "chats of Telegram (result.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let is_account = sample.is_json_with(&["personal_information", "about"]);
        let is_chat = sample.is_json_with(&["messages", "date_unixtime"]);
        let kinds = ["personal_chat", "private_group", "private_supergroup", "saved_messages"];
        let is_kind = |kind: &&str| sample.is_json_with(&["messages", kind]);
        is_account && sample.head.contains("\"chats\"") || is_chat || kinds.iter().any(is_kind)
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let account: Account = serde_json::from_str(&text)?;
        let lists = [account.chats, account.left_chats];
        let chats: Vec<&RawValue> = lists.into_iter().flatten().flat_map(|it| it.list).collect();
        if chats.is_empty() {
            add_chat(&mut parsed, input, &text, 1)?;
        }
        for (number, chat) in (1..).zip(chats) {
            if let Err(error) = add_chat(&mut parsed, input, chat.get(), number) {
                parsed.add_problem(format!("chat {number}"), error.to_string());
            }
        }
        Ok(parsed)
    }
}

#[derive(Debug, Deserialize)]
struct Account<'a> {
    #[serde(borrow)]
    chats: Option<ChatList<'a>>,
    #[serde(borrow)]
    left_chats: Option<ChatList<'a>>,
}

#[derive(Debug, Deserialize)]
struct ChatList<'a> {
    #[serde(borrow)]
    list: Vec<&'a RawValue>,
}

/// Fields of a chat beside its messages.
#[derive(Debug, Deserialize)]
struct ChatHead {
    name: Option<String>,
    r#type: Option<String>,
    id: Option<i64>,
}

fn add_chat(
    parsed: &mut ParsedFormat,
    input: &FormatInput<'_>,
    json: &str,
    number: usize,
) -> Result<(), FormatError> {
    let head: ChatHead = serde_json::from_str(json)?;
    let messages = RawMessages::split(json)?.parse(parsed);
    let is_saved = head.r#type.as_deref() == Some("saved_messages");
    let title = head.name.or_else(|| is_saved.then(|| "Saved messages".to_owned()));
    let origin = match (head.id, head.r#type) {
        (Some(id), Some(kind)) => format!("telegram:{kind}:{id}"),
        _ => format!("{}#{number}", input.origin()),
    };
    let mut texts: HashMap<String, (String, String)> = HashMap::new();
    let mut drafts = Vec::with_capacity(messages.len());
    for (number, value) in (1..).zip(&messages) {
        let id = Some(id_at(value, "/id")).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| usize::to_string(&number));
        let sender = ["/from", "/actor"].map(|path| text_at(value, path));
        let sender = sender.into_iter().find(|name| !name.is_empty());
        let sender = sender.unwrap_or("Deleted account");
        let text = formatted_text(value.get("text").unwrap_or(&Value::Null));
        let answered = texts.get(&id_at(value, "/reply_to_message_id"));
        let mut parts = vec![answered.map(|(who, what)| quote(who, what)).unwrap_or_default()];
        texts.insert(id.clone(), (sender.to_owned(), text.clone()));
        let forwarded = text_at(value, "/forwarded_from");
        if !forwarded.is_empty() {
            parts.push(format!("[forwarded from {forwarded}]"));
        }
        parts.push(text);
        parts.extend(attachments(value));
        if !text_at(value, "/edited_unixtime").is_empty() {
            parts.push("(edited)".to_owned());
        }
        drafts.push(message(id, sender, &parts, sent_at(value)));
    }
    let service = Some("telegram".to_owned());
    parsed.add_excerpt(
        origin,
        ChatDraft { title, service, messages: drafts, ..ChatDraft::default() },
    );
    Ok(())
}

fn sent_at(value: &Value) -> Option<Timestamp> {
    let unix = value.get("date_unixtime").and_then(datetime::parse_json);
    unix.or_else(|| datetime::parse_text(text_at(value, "/date")))
}

/// Returns a text as Markdown. It is a string, or a list of strings and formatted parts.
fn formatted_text(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(formatted_part).collect(),
        _ => String::new(),
    }
}

fn formatted_part(part: &Value) -> String {
    let text = part.as_str().unwrap_or_else(|| text_at(part, "/text"));
    match text_at(part, "/type") {
        "text_link" => format!("[{text}]({})", text_at(part, "/href")),
        "pre" => format!("\n```{}\n{text}\n```\n", text_at(part, "/language")),
        "code" => format!("`{text}`"),
        _ => text.to_owned(),
    }
}

/// Returns labels of what a message has beside its text: files, places, polls, changes of the chat.
fn attachments(value: &Value) -> Vec<String> {
    let mut labels = Vec::new();
    let name = ["/file_name", "/file", "/photo"].map(|path| text_at(value, path));
    labels.extend(name.into_iter().find(|name| !name.is_empty()).map(file_label));
    let sticker = text_at(value, "/sticker_emoji");
    if !sticker.is_empty() {
        labels.push(format!("[sticker: {sticker}]"));
    }
    if let Some(place) = value.get("location_information") {
        let number = |name| place.get(name).and_then(Value::as_f64).unwrap_or_default();
        labels.push(format!("[place: {}, {}]", number("latitude"), number("longitude")));
    }
    if let Some(poll) = value.get("poll") {
        labels.push(format!("[poll: {}]", text_at(poll, "/question")));
        let answers = list_at(poll, "/answers").iter();
        labels.extend(answers.map(|answer| format!("- {}", text_at(answer, "/text"))));
    }
    let action = text_at(value, "/action");
    if !action.is_empty() {
        let mut about = texts_at(value, "/members");
        about.extend(Some(text_at(value, "/title")).filter(|it| !it.is_empty()).map(str::to_owned));
        let colon = if about.is_empty() { "" } else { ": " };
        labels.push(format!("[{}{colon}{}]", action.replace('_', " "), about.join(", ")));
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{chats, detects, lines, parse, try_parse};

    const CHAT: &str = r#"{"name": "Ada", "type": "personal_chat", "id": 7, "messages": [
        {"id": 1, "type": "message", "date": "2026-01-05T10:00:00", "date_unixtime": "1767607200",
         "from": "Ada", "from_id": "user1", "text": ["See ", {"type": "text_link", "text": "rye",
         "href": "https://example.org/rye"}, " and ", {"type": "code", "text": "x"}]},
        {"id": 2, "type": "message", "date_unixtime": "1767607260", "from": null, "text": "Yes.",
         "reply_to_message_id": 1, "forwarded_from": "Ben", "edited_unixtime": "1767607300",
         "file": "files/loaf.pdf", "poll": {"question": "How?", "answers": [{"text": "Warm"}]}},
        {"id": 3, "type": "service", "date_unixtime": "1767607320", "actor": "Ada",
         "action": "invite_members", "members": ["Cy"], "text": ""}]}"#;

    #[test]
    fn chat_keeps_senders_links_replies_and_files() {
        assert!(detects(&Telegram, "/result.json", CHAT));
        let parsed = parse(&Telegram, "/result.json", CHAT);
        assert_eq!(parsed.drafts[0].origin, "telegram:personal_chat:7");
        let chat = chats(&parsed)[0];
        assert_eq!(
            (chat.title.as_deref(), chat.service.as_deref()),
            (Some("Ada"), Some("telegram"))
        );
        assert_eq!(
            lines(chat),
            [
                "2026-01-05T10:00 Ada: See [rye](https://example.org/rye) and `x`",
                "2026-01-05T10:01 Deleted account: > Ada: See [rye](https://example.org/rye) and \
                 `x`\n[forwarded from Ben]\nYes.\n[file: loaf.pdf]\n[poll: How?]\n- Warm\n(edited)",
                "2026-01-05T10:02 Ada: [invite members: Cy]",
            ]
        );
        assert_eq!(chat.messages[1].origin, "2");
    }

    #[test]
    fn account_has_all_its_chats() {
        let other = CHAT.replace("\"id\": 7", "\"id\": 8").replace("Ada", "Ben");
        let json = format!(
            r#"{{"about": "x", "personal_information": {{}}, "chats": {{"list": [{CHAT}, {{}}]}},
                "left_chats": {{"list": [{other}]}}}}"#
        );
        assert!(detects(&Telegram, "/result.json", &json));
        let parsed = parse(&Telegram, "/result.json", &json);
        let titles: Vec<_> = chats(&parsed).iter().map(|it| it.title.clone().unwrap()).collect();
        assert_eq!(titles, ["Ada", "Ben"]);
        assert_eq!(parsed.problems[0].place, "chat 2");
        assert_eq!(parse(&Telegram, "/b.json", &json).drafts[1].digest, parsed.drafts[1].digest);
    }

    #[test]
    fn broken_or_deep_chat_is_rejected() {
        assert!(try_parse(&Telegram, "/a.json", "{\"messages\": 5}").is_err());
        assert!(try_parse(&Telegram, "/a.json", "[".repeat(100_000)).is_err());
        let deep = format!(
            r#"{{"messages": [{}1{}, {{"text": "x"}}]}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let parsed = parse(&Telegram, "/a.json", deep);
        assert_eq!((chats(&parsed)[0].messages.len(), parsed.problems.len()), (1, 1));
        assert!(!detects(&Telegram, "/a.json", r#"{"messages": [{"role": "user"}]}"#));
    }
}
