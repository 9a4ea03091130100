//! Chats as messages with `role` and `content`, the format of most programs: a JSON list, an object
//! with `messages`, or one message per line (`.jsonl`).

use serde_json::{Map, Value};
use vademecum_model::{MessageDraft, SourceName};

use super::{
    conversation::Conversation, conversation_tree::ConversationBranches,
    message_content::content_text,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    text::{
        datetime,
        json::{parse_entry, split_entries},
    },
};

/// Names of the field with the messages of a conversation.
const MESSAGES_KEYS: [&str; 4] = ["messages", "conversations", "conversation", "history"];

/// Importer of such chats.
#[derive(Debug)]
pub(crate) struct RoleChatImporter;

impl Importer for RoleChatImporter {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format_name(&self) -> &'static str {
        "lists of messages with `role` and `content` (.jsonl, .json)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let has = |fields: [&str; 2]| fields.iter().all(|field| opening.contains(field));
        let says_so = has(["\"role\"", "\"content\""])
            || has(["\"conversations\"", "\"from\""]) && opening.contains("\"value\"");
        let is_lines = is_json_lines(probe.path());
        let begins = opening.starts_with(['{', '[']);
        let by_content = if is_lines { Confidence::ByContent } else { Confidence::ByName };
        let may_be = begins && (is_lines || probe.has_extension(&["json"]));
        by_content.when(may_be && says_so).max(Confidence::Possible.when(may_be && is_lines))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let mut reading = ParsedFile::default();
        let mut alone = Vec::new();
        let conversations = if is_json_lines(&file.path) {
            let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
            reading.collect_conversations(
                lines.map(|(number, line)| (number, parse_entry(line))),
                &mut alone,
            )
        } else {
            // A list of messages is one conversation; a list of conversations is many.
            let list = split_entries(text.trim_start_matches('\u{feff}'))
                .map_err(|cause| ImportError::Json { path: file.path.clone(), cause })?;
            let items = (1..).zip(list).map(|(number, item)| (number, parse_entry(item.get())));
            reading.collect_conversations(items, &mut alone)
        };
        if conversations.is_empty() && alone.is_empty() && !is_json_lines(&file.path) {
            return Err(ImportError::NotAChatExport { path: file.path.clone() });
        }
        if !alone.is_empty() {
            let branches = ConversationBranches::linear(alone);
            let title = Some(file.file_stem());
            let whole = Conversation { title, branches, ..Conversation::default() };
            reading.add_conversation(file, 0, "the chat".to_owned(), Ok(whole));
        }
        for (number, conversation) in conversations {
            reading.add_conversation(
                file,
                number,
                format!("conversation {number}"),
                Ok(conversation),
            );
        }
        Ok(reading)
    }
}

fn is_json_lines(path: &std::path::Path) -> bool {
    crate::files::source_file::has_extension(path, &["jsonl", "ndjson"])
}

impl ParsedFile {
    /// Returns the conversations of a file, each with its number. Messages that are not part of a
    /// conversation object are added to `alone`; invalid items become problems.
    fn collect_conversations(
        &mut self,
        items: impl Iterator<Item = (usize, Result<Value, String>)>,
        alone: &mut Vec<MessageDraft>,
    ) -> Vec<(usize, Conversation)> {
        let mut conversations = Vec::new();
        for (number, item) in items {
            let read = match item {
                Err(reason) => Err(reason),
                Ok(Value::Object(fields)) => match messages_array(&fields) {
                    Some(messages) => Ok(Some(parse_conversation(&fields, messages))),
                    None => parse_message(number, &fields).map(|draft| {
                        alone.extend(draft);
                        None
                    }),
                },
                Ok(Value::Array(messages)) => Ok(Some(parse_conversation(&Map::new(), &messages))),
                Ok(_) => Err("it is neither a message nor a conversation".to_owned()),
            };
            match read {
                Ok(conversation) => conversations.extend(conversation.map(|it| (number, it))),
                Err(reason) => {
                    self.problems.push(Problem { place: format!("entry {number}"), reason });
                }
            }
        }
        conversations
    }
}

fn messages_array(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    MESSAGES_KEYS.iter().find_map(|key| fields.get(*key)?.as_array())
}

fn parse_conversation(fields: &Map<String, Value>, messages: &[Value]) -> Conversation {
    let model = first_text(fields, &["model"]);
    let read = (1..).zip(messages).filter_map(|(number, message)| {
        let mut draft = parse_message(number, message.as_object()?).ok()??;
        let is_answer = matches!(draft.sender.as_str(), "assistant" | "model" | "gpt" | "bot");
        draft.model = draft.model.or_else(|| model.clone().filter(|_| is_answer));
        Some(draft)
    });
    let time = |keys: &[&str]| keys.iter().find_map(|key| datetime::parse_json(fields.get(*key)?));
    Conversation {
        origin: None,
        title: first_text(fields, &["title", "name", "subject", "id"]),
        service: first_text(fields, &["service", "source", "provider"]),
        created_at: time(&["created_at", "create_time", "created", "timestamp", "date"]),
        modified_at: time(&["updated_at", "update_time", "modified_at"]),
        branches: ConversationBranches::linear(read.collect()),
    }
}

/// Parses a message; `None` if it is empty. Fails if it has no role.
fn parse_message(
    number: usize,
    fields: &Map<String, Value>,
) -> Result<Option<MessageDraft>, String> {
    let role =
        ["role", "from", "sender", "author"].iter().find_map(|key| match fields.get(*key)? {
            Value::Object(author) => first_text(author, &["name", "role"]),
            role => role.as_str().map(str::to_owned),
        });
    let Some(role) = role else {
        return Err("it has no `role`, and no `messages` with roles".to_owned());
    };
    let content = ["content", "value", "text", "message"].iter().find_map(|key| fields.get(*key));
    let mut parts: Vec<String> = content.and_then(content_text).into_iter().collect();
    let calls = fields.get("tool_calls").and_then(Value::as_array);
    parts.extend(calls.into_iter().flatten().filter_map(tool_call_text));
    let times = ["timestamp", "created_at", "create_time", "time", "date"];
    let is_tool = role == "tool" || role == "function";
    let sender = first_text(fields, &["name"]).filter(|_| is_tool).unwrap_or(role);
    Ok((!parts.is_empty()).then(|| MessageDraft {
        origin: first_text(fields, &["id", "uuid"]).unwrap_or_else(|| number.to_string()),
        sender,
        model: first_text(fields, &["model"]),
        content: parts.join("\n\n"),
        sent_at: times.iter().find_map(|key| datetime::parse_json(fields.get(*key)?)),
        ..MessageDraft::default()
    }))
}

/// Returns the text of a tool call.
fn tool_call_text(call: &Value) -> Option<String> {
    let function = call.get("function")?;
    let name = function.get("name")?.as_str()?;
    let arguments = function.get("arguments").and_then(Value::as_str).unwrap_or_default();
    content_text(
        &serde_json::json!({ "type": "function_call", "name": name, "arguments": arguments }),
    )
}

fn first_text(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let text = keys.iter().find_map(|key| match fields.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    });
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use vademecum_model::{ChatDraft, DraftBody};

    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    fn read_chats(name: &str, text: &str) -> (Vec<ChatDraft>, Vec<Problem>) {
        let reading = RoleChatImporter.parse(&SourceFile::in_memory(name, text)).unwrap();
        let chats = reading.drafts.into_iter().map(|draft| match draft.body {
            DraftBody::Chat(chat) => chat,
            _ => panic!("no chat"),
        });
        (chats.collect(), reading.problems)
    }

    fn senders_and_texts(chat: &ChatDraft) -> Vec<(&str, &str)> {
        chat.messages.iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect()
    }

    const QUESTION: &str = r#"{"role": "user", "content": "Rye?", "timestamp": 1704465012}"#;
    const ANSWER: &str = r#"{"role": "assistant", "model": "one", "content": [
        {"type": "text", "text": "Yes."}, {"type": "image_url", "image_url": {"url": "data:x"}}]}"#;

    #[test]
    fn messages_form_one_chat_as_lines_or_list() {
        let lines = format!("{QUESTION}\n{}\n", ANSWER.replace('\n', " "));
        let list = format!("[{QUESTION}, {ANSWER}]");
        for (name, text) in [("/rye.jsonl", lines), ("/rye.json", list)] {
            let (chats, problems) = read_chats(name, &text);
            assert!(problems.is_empty() && chats.len() == 1, "{name} {problems:?}");
            assert_eq!(
                senders_and_texts(&chats[0]),
                [("user", "Rye?"), ("assistant", "Yes.\n\n[image]")]
            );
            assert_eq!(chats[0].title.as_deref(), Some("rye"));
            assert_eq!(chats[0].messages[1].model.as_deref(), Some("one"));
            let sent_at = chats[0].messages[0].sent_at.unwrap().to_string();
            assert_eq!(sent_at, "2024-01-05T14:30:12.000Z");
        }
    }

    #[test]
    fn line_with_messages_is_one_chat() {
        let chat = format!(
            r#"{{"title": "Oat", "model": "one", "created_at": "2024-01-05", "messages": [{QUESTION},
                {{"role": "assistant", "content": null, "tool_calls": [
                    {{"function": {{"name": "add", "arguments": "{{}}"}}}}]}},
                {{"role": "tool", "name": "add", "content": "2"}}]}}"#
        )
        .replace('\n', " ");
        let shared = r#"{"conversations": [{"from": "human", "value": "Why?"}]}"#;
        let (chats, problems) = read_chats("/a.jsonl", &format!("{chat}\n{shared}\n"));
        assert!(problems.is_empty());
        assert_eq!(
            senders_and_texts(&chats[0]),
            [("user", "Rye?"), ("assistant", "[add] {}"), ("add", "2")]
        );
        assert_eq!(chats[0].title.as_deref(), Some("Oat"));
        assert_eq!(chats[0].messages[1].model.as_deref(), Some("one"));
        assert_eq!(senders_and_texts(&chats[1]), [("human", "Why?")]);
        assert_eq!(read_chats("/a.json", &format!("[{chat}, {shared}]")).0.len(), 2);
        assert_eq!(read_chats("/a.json", &chat).0.len(), 1);
    }

    #[test]
    fn invalid_message_is_reported_others_kept() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let (chats, problems) = read_chats(
            "/a.jsonl",
            &format!("{QUESTION}\n{{\n7\n{{\"x\": 1}}\n{deep}\n{{\"messages\": []}}\n"),
        );
        assert_eq!(chats.len(), 1);
        let found: Vec<_> = problems.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(found, ["entry 2", "entry 3", "entry 4", "entry 5", "conversation 6"]);
        let error =
            RoleChatImporter.parse(&SourceFile::in_memory("/a.json", r#"{"x": 1}"#)).unwrap_err();
        assert!(matches!(error, ImportError::NotAChatExport { .. }), "{error}");
    }

    #[test]
    fn role_chat_is_detected_by_fields() {
        let fit = |name: &str, text: &str| RoleChatImporter.detect(&probe_file(name, text));
        assert_eq!(
            (fit("a.jsonl", QUESTION), fit("a.json", QUESTION)),
            (Confidence::ByContent, Confidence::ByName)
        );
        assert_eq!(
            (fit("a.jsonl", "{}"), fit("a.json", "{}")),
            (Confidence::Possible, Confidence::NoMatch)
        );
        assert_eq!(fit("a.md", QUESTION), Confidence::NoMatch);
    }
}
