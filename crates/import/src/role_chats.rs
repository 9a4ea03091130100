//! Chats as lists of messages with `role` and `content`, as most programs keep
//! them: a JSON list, an object with `messages`, or a line for each (`.jsonl`).

use serde_json::{Map, Value};
use vademecum_kit::model::{MessageDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    conversation::Conversation,
    json::{entries, entry},
    moment,
    parts::said,
    tree::Branches,
};

/// What programs call the messages of a conversation.
const MESSAGES: [&str; 4] = ["messages", "conversations", "conversation", "history"];

/// Reads such chats.
#[derive(Debug)]
pub(super) struct RoleChats;

impl Importer for RoleChats {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format(&self) -> &'static str {
        "lists of messages with `role` and `content` (.jsonl, .json)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let has = |fields: [&str; 2]| fields.iter().all(|field| opening.contains(field));
        let says_so = has(["\"role\"", "\"content\""])
            || has(["\"conversations\"", "\"from\""]) && opening.contains("\"value\"");
        let is_lines = is_lines(glance.path());
        let begins = opening.starts_with(['{', '[']);
        let by_content = if is_lines { Fit::Content } else { Fit::Name };
        let may_be = begins && (is_lines || glance.ends_in(&["json"]));
        by_content.when(may_be && says_so).max(Fit::Maybe.when(may_be && is_lines))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let mut reading = Reading::default();
        let mut alone = Vec::new();
        let conversations = if is_lines(&file.path) {
            let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
            reading.lines(lines.map(|(number, line)| (number, entry(line))), &mut alone)
        } else {
            // A list of messages is one conversation, a list of conversations
            // many.
            let list = entries(text.trim_start_matches('\u{feff}'))
                .map_err(|cause| ImportError::Json { path: file.path.clone(), cause })?;
            let items = (1..).zip(list).map(|(number, item)| (number, entry(item.get())));
            reading.lines(items, &mut alone)
        };
        if conversations.is_empty() && alone.is_empty() && !is_lines(&file.path) {
            return Err(ImportError::NotChats { path: file.path.clone() });
        }
        if !alone.is_empty() {
            let branches = Branches::line(alone);
            let title = Some(file.stem());
            let whole = Conversation { title, branches, ..Conversation::default() };
            reading.add(file, 0, "the chat".to_owned(), Ok(whole));
        }
        for (number, conversation) in conversations {
            reading.add(file, number, format!("conversation {number}"), Ok(conversation));
        }
        Ok(reading)
    }
}

fn is_lines(path: &std::path::Path) -> bool {
    super::file::ends_in(path, &["jsonl", "ndjson"])
}

impl Reading {
    /// The conversations of a file, each with its number; what is a message by
    /// itself becomes one of those that are `alone`.
    fn lines(
        &mut self,
        items: impl Iterator<Item = (usize, Result<Value, String>)>,
        alone: &mut Vec<MessageDraft>,
    ) -> Vec<(usize, Conversation)> {
        let mut conversations = Vec::new();
        for (number, item) in items {
            let read = match item {
                Err(reason) => Err(reason),
                Ok(Value::Object(fields)) => match messages_of(&fields) {
                    Some(messages) => Ok(Some(conversation(&fields, messages))),
                    None => message(number, &fields).map(|said| {
                        alone.extend(said);
                        None
                    }),
                },
                Ok(Value::Array(messages)) => Ok(Some(conversation(&Map::new(), &messages))),
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

fn messages_of(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    MESSAGES.iter().find_map(|key| fields.get(*key)?.as_array())
}

fn conversation(fields: &Map<String, Value>, messages: &[Value]) -> Conversation {
    let model = text(fields, &["model"]);
    let read = (1..).zip(messages).filter_map(|(number, said)| {
        let mut said = message(number, said.as_object()?).ok()??;
        let is_answer = matches!(said.sender.as_str(), "assistant" | "model" | "gpt" | "bot");
        said.model = said.model.or_else(|| model.clone().filter(|_| is_answer));
        Some(said)
    });
    let time = |keys: &[&str]| keys.iter().find_map(|key| moment::read(fields.get(*key)?));
    Conversation {
        origin: None,
        title: text(fields, &["title", "name", "subject", "id"]),
        service: text(fields, &["service", "source", "provider"]),
        created_at: time(&["created_at", "create_time", "created", "timestamp", "date"]),
        modified_at: time(&["updated_at", "update_time", "modified_at"]),
        branches: Branches::line(read.collect()),
    }
}

/// A message; none if it says nothing.
fn message(number: usize, fields: &Map<String, Value>) -> Result<Option<MessageDraft>, String> {
    let role =
        ["role", "from", "sender", "author"].iter().find_map(|key| match fields.get(*key)? {
            Value::Object(author) => text(author, &["name", "role"]),
            role => role.as_str().map(str::to_owned),
        });
    let Some(role) = role else {
        return Err("it has no `role`, and no `messages` with roles".to_owned());
    };
    let content = ["content", "value", "text", "message"].iter().find_map(|key| fields.get(*key));
    let mut parts: Vec<String> = content.and_then(said).into_iter().collect();
    let calls = fields.get("tool_calls").and_then(Value::as_array);
    parts.extend(calls.into_iter().flatten().filter_map(call));
    let times = ["timestamp", "created_at", "create_time", "time", "date"];
    let is_tool = role == "tool" || role == "function";
    let sender = text(fields, &["name"]).filter(|_| is_tool).unwrap_or(role);
    Ok((!parts.is_empty()).then(|| MessageDraft {
        origin: text(fields, &["id", "uuid"]).unwrap_or_else(|| number.to_string()),
        sender,
        model: text(fields, &["model"]),
        content: parts.join("\n\n"),
        sent_at: times.iter().find_map(|key| moment::read(fields.get(*key)?)),
        ..MessageDraft::default()
    }))
}

/// What a tool was asked.
fn call(call: &Value) -> Option<String> {
    let asked = call.get("function")?;
    let name = asked.get("name")?.as_str()?;
    let told = asked.get("arguments").and_then(Value::as_str).unwrap_or_default();
    said(&serde_json::json!({ "type": "function_call", "name": name, "arguments": told }))
}

fn text(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let text = keys.iter().find_map(|key| match fields.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    });
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Body, ChatDraft};

    use super::*;
    use crate::glance::tests::glance;

    fn read(name: &str, text: &str) -> (Vec<ChatDraft>, Vec<Problem>) {
        let reading = RoleChats.read(&SourceFile::example(name, text)).unwrap();
        let chats = reading.drafts.into_iter().map(|draft| match draft.body {
            Body::Chat(chat) => chat,
            _ => panic!("no chat"),
        });
        (chats.collect(), reading.problems)
    }

    fn said(chat: &ChatDraft) -> Vec<(&str, &str)> {
        chat.messages.iter().map(|it| (it.sender.as_str(), it.content.as_str())).collect()
    }

    const ASKED: &str = r#"{"role": "user", "content": "Rye?", "timestamp": 1704465012}"#;
    const ANSWERED: &str = r#"{"role": "assistant", "model": "one", "content": [
        {"type": "text", "text": "Yes."}, {"type": "image_url", "image_url": {"url": "data:x"}}]}"#;

    #[test]
    fn messages_are_one_chat_as_lines_and_as_a_list() {
        let lines = format!("{ASKED}\n{}\n", ANSWERED.replace('\n', " "));
        let list = format!("[{ASKED}, {ANSWERED}]");
        for (name, text) in [("/rye.jsonl", lines), ("/rye.json", list)] {
            let (chats, problems) = read(name, &text);
            assert!(problems.is_empty() && chats.len() == 1, "{name} {problems:?}");
            assert_eq!(said(&chats[0]), [("user", "Rye?"), ("assistant", "Yes.\n\n[image]")]);
            assert_eq!(chats[0].title.as_deref(), Some("rye"));
            assert_eq!(chats[0].messages[1].model.as_deref(), Some("one"));
            let sent_at = chats[0].messages[0].sent_at.unwrap().to_string();
            assert_eq!(sent_at, "2024-01-05T14:30:12.000Z");
        }
    }

    #[test]
    fn a_line_with_messages_is_a_chat_by_itself() {
        let chat = format!(
            r#"{{"title": "Oat", "model": "one", "created_at": "2024-01-05", "messages": [{ASKED},
                {{"role": "assistant", "content": null, "tool_calls": [
                    {{"function": {{"name": "add", "arguments": "{{}}"}}}}]}},
                {{"role": "tool", "name": "add", "content": "2"}}]}}"#
        )
        .replace('\n', " ");
        let shared = r#"{"conversations": [{"from": "human", "value": "Why?"}]}"#;
        let (chats, problems) = read("/a.jsonl", &format!("{chat}\n{shared}\n"));
        assert!(problems.is_empty());
        assert_eq!(said(&chats[0]), [("user", "Rye?"), ("assistant", "[add] {}"), ("add", "2")]);
        assert_eq!(chats[0].title.as_deref(), Some("Oat"));
        assert_eq!(chats[0].messages[1].model.as_deref(), Some("one"));
        assert_eq!(said(&chats[1]), [("human", "Why?")]);
        assert_eq!(read("/a.json", &format!("[{chat}, {shared}]")).0.len(), 2);
        assert_eq!(read("/a.json", &chat).0.len(), 1);
    }

    #[test]
    fn what_is_no_message_is_named_and_the_rest_goes_in() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let (chats, problems) = read(
            "/a.jsonl",
            &format!("{ASKED}\n{{\n7\n{{\"x\": 1}}\n{deep}\n{{\"messages\": []}}\n"),
        );
        assert_eq!(chats.len(), 1);
        let places: Vec<_> = problems.iter().map(|it| it.place.as_str()).collect();
        assert_eq!(places, ["entry 2", "entry 3", "entry 4", "entry 5", "conversation 6"]);
        let error = RoleChats.read(&SourceFile::example("/a.json", r#"{"x": 1}"#)).unwrap_err();
        assert!(matches!(error, ImportError::NotChats { .. }), "{error}");
    }

    #[test]
    fn such_a_chat_is_known_by_its_fields() {
        let fit = |name: &str, text: &str| RoleChats.recognise(&glance(name, text));
        assert_eq!((fit("a.jsonl", ASKED), fit("a.json", ASKED)), (Fit::Content, Fit::Name));
        assert_eq!((fit("a.jsonl", "{}"), fit("a.json", "{}")), (Fit::Maybe, Fit::No));
        assert_eq!(fit("a.md", ASKED), Fit::No);
    }
}
