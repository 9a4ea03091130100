//! Chats of Open WebUI: an export of one chat or of all, or its database.

use serde_json::Value;
use vademecum_model::{ChatDraft, SourceName, Timestamp};

use super::reply::{Reply, content_text, last_leaf, parts_text, path_to, reply};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    sqlite_image::{self, read_rows},
    text::{
        datetime,
        json::{list_at, parse_entry, split_entries, text_at, texts_at},
        keywords::distinct_keywords,
    },
};

/// Blocks that the program puts into answers.
const MACHINE_BLOCKS: [&str; 3] = ["reasoning", "tool_calls", "code_interpreter"];

/// Chats of Open WebUI.
#[derive(Debug)]
pub(crate) struct OpenWebUi;

impl Format for OpenWebUi {
    fn id(&self) -> &'static str {
        "open_webui"
    }

    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn name(&self) -> &'static str {
        "chats of Open WebUI (chat-export.json, webui.db)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["history", "messages", "parentId"])
            || sample.is_database(&["webui.db"], &["share_id", "folder_id", "\"chat\""])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        if sqlite_image::is_database(input.bytes) {
            let database = input.database()?;
            for mut row in read_rows(&database, "SELECT * FROM chat ORDER BY id", None)? {
                let chat = serde_json::from_str(text_at(&row, "/chat")).unwrap_or(Value::Null);
                let meta = serde_json::from_str(text_at(&row, "/meta")).unwrap_or(Value::Null);
                if let Some(fields) = row.as_object_mut() {
                    fields.insert("chat".to_owned(), chat);
                    fields.insert("meta".to_owned(), meta);
                }
                add_chat(&mut parsed, &row, &input.origin());
            }
            return parsed.or_empty("it has no chats");
        }
        let text = input.text()?;
        for (number, json) in (1..).zip(split_entries(&text)?) {
            match parse_entry::<Value>(json.get()) {
                Ok(chat) => add_chat(&mut parsed, &chat, &format!("{}#{number}", input.origin())),
                Err(reason) => parsed.add_problem(format!("chat {number}"), reason),
            }
        }
        parsed.or_empty("it has no chats")
    }
}

/// Adds a chat. One that was exported alone has no fields around it.
fn add_chat(parsed: &mut ParsedFormat, entry: &Value, place: &str) {
    let chat = entry.get("chat").filter(|chat| chat.is_object()).unwrap_or(entry);
    let messages = chat.pointer("/history/messages").and_then(Value::as_object);
    let replies: Vec<Reply> = messages.into_iter().flatten().map(reply_of).collect();
    let current = text_at(chat, "/history/currentId").to_owned();
    let is_known = replies.iter().any(|it| it.message.origin == current);
    let leaf = Some(current).filter(|_| is_known).or_else(|| last_leaf(&replies));
    let ids = [entry, chat].map(|value| text_at(value, "/id"));
    let origin = match ids.into_iter().find(|id| !id.is_empty()) {
        Some(id) => format!("open-webui:{id}"),
        None => place.to_owned(),
    };
    let titles = [entry, chat].map(|value| text_at(value, "/title"));
    let title = titles.into_iter().find(|title| !title.is_empty()).map(str::to_owned);
    let tags = texts_at(entry, "/meta/tags").into_iter().chain(texts_at(chat, "/tags"));
    let time = |field: &str| entry.get(field).and_then(datetime::parse_json);
    let draft = ChatDraft {
        title,
        service: Some("open-webui".to_owned()),
        keywords: distinct_keywords(tags),
        created_at: time("created_at"),
        modified_at: time("updated_at"),
        messages: leaf.map(|leaf| path_to(&leaf, replies)).unwrap_or_default(),
        ..ChatDraft::default()
    };
    parsed.add_chat(origin, draft);
}

fn reply_of((id, message): (&String, &Value)) -> Reply {
    let said = list_at(message, "/output").iter().filter(|it| text_at(it, "/type") == "message");
    let said: Vec<String> = said.map(|it| parts_text(it, "/content")).collect();
    let text = match said.concat().trim() {
        "" => cut_blocks(&content_text(message.get("content").unwrap_or(&Value::Null))),
        _ => said.join("\n\n"),
    };
    let at: Option<Timestamp> = message.get("timestamp").and_then(datetime::parse_json);
    let (role, model) = (text_at(message, "/role"), text_at(message, "/model"));
    Reply {
        parent: text_at(message, "/parentId").to_owned(),
        message: reply(id, role, &text, at, model),
    }
}

/// Cuts reasoning and the output of tools, which are blocks of HTML.
fn cut_blocks(text: &str) -> String {
    const BEGIN: &str = "<details type=\"";
    const END: &str = "</details>";
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, block)) = rest.split_once(BEGIN) {
        kept.push_str(before);
        let kind = block.split('"').next().unwrap_or_default();
        if MACHINE_BLOCKS.contains(&kind) {
            rest = block.split_once(END).map_or("", |(_, after)| after);
        } else {
            kept.push_str(BEGIN);
            rest = block;
        }
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{chats, detects, lines, parse, try_parse},
        sqlite_image::tests::database,
    };

    const CHAT: &str = r#"{"title": "Rye", "history": {"currentId": "c", "messages": {
        "a": {"parentId": null, "role": "user", "content": "Rest?", "timestamp": 1767607200},
        "b": {"parentId": "a", "role": "assistant", "content": "No.", "timestamp": 1767607260},
        "c": {"parentId": "a", "role": "assistant", "model": "m", "timestamp": 1767607320,
              "content": "<details type=\"reasoning\"><summary>x</summary>hidden</details>A day."}}}}"#;
    const EXPECTED: [&str; 2] =
        ["2026-01-05T10:00 user: Rest?", "2026-01-05T10:02 assistant: A day."];

    #[test]
    fn current_branch_is_read_without_reasoning() {
        let list = format!(
            r#"[{{"id": "w", "title": "Rye", "chat": {CHAT}, "meta": {{"tags": ["bread"]}}}}, 5]"#
        );
        assert!(detects(&OpenWebUi, "/a.json", &list));
        let parsed = parse(&OpenWebUi, "/a.json", &list);
        assert_eq!(parsed.drafts[0].origin, "open-webui:w");
        let chat = chats(&parsed)[0];
        assert_eq!(lines(chat), EXPECTED);
        assert_eq!((chat.title.as_deref(), chat.keywords.len()), (Some("Rye"), 1));
        let alone = parse(&OpenWebUi, "/a.json", CHAT);
        assert_eq!(alone.drafts[0].origin, "file:/a.json#1");
        assert!(try_parse(&OpenWebUi, "/a.json", "[]").is_err());
    }

    #[test]
    fn database_is_read() {
        let sql = format!(
            "CREATE TABLE \"chat\" (id, user_id, title, share_id, folder_id, chat, meta, created_at);
             INSERT INTO chat VALUES ('w', 'u', 'Rye', NULL, NULL, '{CHAT}', '{{}}', 1767607200),
                                     ('x', 'u', 'Broken', NULL, NULL, 'oh', NULL, NULL);"
        );
        let bytes = database(&sql);
        assert!(detects(&OpenWebUi, "/a.db", &bytes));
        let parsed = parse(&OpenWebUi, "/a.db", &bytes);
        assert_eq!(lines(chats(&parsed)[0]), EXPECTED);
        assert_eq!(parsed.problems[0].to_string(), "`Broken`: it has no messages");
    }
}
