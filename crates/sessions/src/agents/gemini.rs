//! Gemini CLI: messages that are written again under the same identifier when they change, and lists
//! that replace all messages. Older versions write one JSON document.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::Timestamp;

use super::format::{AgentFormat, has, has_all, has_extension};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    session_file::for_each_line,
    text::{items, output_text, text, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "gemini-cli",
    label: "Gemini CLI",
    detect: |path, head| {
        let is_document = has(head, "\"projectHash\"") && has(head, "\"messages\"");
        let is_log =
            has_all(head, &["{\"sessionId\":", "\"startTime\":"]) || has(head, "\"projectHash\":");
        (has_extension(path, &["json"]) && is_document || has_extension(path, &["jsonl"]) && is_log)
            .into()
    },
    parse,
    follow: None,
};

/// The messages of a session in their present order.
#[derive(Default)]
struct Messages {
    order: Vec<String>,
    messages: HashMap<String, Message>,
}

/// A message, with what earlier forms of it had.
#[derive(Default)]
struct Message {
    value: Value,
    first_seen: Option<Timestamp>,
    model: Option<String>,
    thoughts: Option<Value>,
    calls: Option<Value>,
}

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let mut builder = SessionBuilder::default();
    let mut messages = Messages::default();
    if has_extension(file.path, &["json"]) {
        let document = file.json()?;
        read_header(&mut builder.session, &document);
        items(&document, "messages").for_each(|message| messages.add(message.clone()));
    } else {
        builder.session.unread = for_each_line(
            file.bytes,
            |_| false,
            |line| {
                if line.get("sessionId").is_some() && line.get("id").is_none() {
                    read_header(&mut builder.session, &line);
                } else if let Some(set) = line.get("$set") {
                    if set.get("messages").is_some_and(Value::is_array) {
                        messages.order.clear();
                        items(set, "messages").for_each(|message| messages.add(message.clone()));
                    }
                } else if let Some(id) = text(&line, "$rewindTo") {
                    let from = messages.order.iter().position(|known| known == id);
                    messages.order.truncate(from.unwrap_or(messages.order.len()));
                } else {
                    messages.add(line);
                }
            },
        );
    }
    for message in messages.order.iter().filter_map(|id| messages.messages.get(id)) {
        read_message(&mut builder, message);
    }
    let session = &mut builder.session;
    let root = file.neighbour_text("../.project_root");
    let root = root.map(|root| root.trim().to_owned()).filter(|root| !root.is_empty());
    session.folder = root.or_else(|| session.folder.take());
    if session.id.is_empty() {
        session.id = file.stem();
    }
    Ok(builder.finish().into_iter().collect())
}

fn read_header(session: &mut Session, header: &Value) {
    if session.id.is_empty() {
        text(header, "sessionId").unwrap_or_default().clone_into(&mut session.id);
        session.parent = text(header, "parentSessionId").map(str::to_owned);
    }
}

impl Messages {
    fn add(&mut self, value: Value) {
        let Some(id) = text(&value, "id").map(str::to_owned) else { return };
        let known = self.messages.entry(id.clone()).or_default();
        // A resumed run writes all messages again with new times, and without model and thoughts.
        known.first_seen = known.first_seen.or(time(value.get("timestamp")));
        known.model = text(&value, "model").map(str::to_owned).or_else(|| known.model.take());
        let list = |key: &str| {
            value.get(key).filter(|it| it.as_array().is_some_and(|it| !it.is_empty())).cloned()
        };
        known.thoughts = list("thoughts").or_else(|| known.thoughts.take());
        known.calls = list("toolCalls").or_else(|| known.calls.take());
        known.value = value;
        if !self.order.contains(&id) {
            self.order.push(id);
        }
    }
}

fn read_message(builder: &mut SessionBuilder, message: &Message) {
    let Message { value, first_seen, model, thoughts, calls } = message;
    let at = *first_seen;
    let role = match text(value, "type") {
        Some("user") => Role::User,
        Some("gemini") => Role::Assistant,
        _ => return,
    };
    let list = |list: &Option<Value>| list.as_ref().and_then(Value::as_array).cloned();
    let thoughts = list(thoughts);
    for thought in thoughts.iter().flatten() {
        let parts: Vec<&str> =
            ["subject", "description"].iter().filter_map(|key| text(thought, key)).collect();
        builder.think(time(thought.get("timestamp")).or(at), &parts.join(": "));
    }
    let mut said: Vec<&str> = text(value, "content").into_iter().collect();
    for part in items(value, "content") {
        let is_thought = part.get("thought") == Some(&Value::Bool(true));
        match text(part, "text") {
            Some(thought) if is_thought && thoughts.is_none() => builder.think(at, thought),
            Some(text) if !is_thought => said.push(text),
            _ => {}
        }
    }
    let said = said.join("\n");
    if said.trim_start().starts_with("<session_context>") {
        let folder = said.lines().skip_while(|line| !line.contains("Workspace Directories"));
        let folder = folder.skip(1).find_map(|line| line.trim().strip_prefix("- "));
        let session = &mut builder.session;
        session.folder = session.folder.take().or_else(|| folder.map(str::to_owned));
        return;
    }
    builder.say_as(role, text(value, "id"), at, &said, model.as_deref());
    let calls = list(calls);
    for call in calls.iter().flatten() {
        let input = call.get("args").unwrap_or(&Value::Null);
        builder.call(text(call, "name").unwrap_or_default(), input);
        let shown = text(call, "resultDisplay").map(str::to_owned);
        let result = items(call, "result")
            .filter_map(|part| Some(output_text(part.get("functionResponse")?.get("response")?)));
        let output = shown.unwrap_or_else(|| result.collect::<Vec<_>>().join("\n"));
        builder.output(time(call.get("timestamp")).or(at), &output);
    }
    if calls.is_none() {
        for call in items(value, "content").filter_map(|part| part.get("functionCall")) {
            let input = call.get("args").unwrap_or(&Value::Null);
            builder.call(text(call, "name").unwrap_or_default(), input);
        }
    }
}
