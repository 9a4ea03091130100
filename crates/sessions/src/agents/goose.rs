//! Goose: a database, and JSON lines in earlier versions.

use serde_json::Value;
use vademecum_formats::sqlite_image::{SIGNATURE, open_image, read_rows};

use super::format::{AgentFormat, has, has_all, has_extension};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    session_file::for_each_line,
    text::{items, output_text, text, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "goose",
    label: "Goose",
    detect: |path, head| {
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let says_so = has_all(first, &["\"working_dir\":"])
            && (has(first, "\"message_count\":") || has(first, "\"description\":"));
        (has_extension(path, &["jsonl"]) && says_so).into()
    },
    parse: |file| Ok(parse_lines(file)),
    follow: None,
};

pub(super) const DATABASE: AgentFormat = AgentFormat {
    name: "goose",
    label: "Goose",
    detect: |_, head| {
        (head.starts_with(SIGNATURE) && has_all(head, &["content_json", "working_dir"])).into()
    },
    parse: parse_database,
    follow: None,
};

fn parse_lines(file: &SessionFile<'_>) -> Vec<Session> {
    let mut builder = SessionBuilder::default();
    let mut is_first = true;
    let unread = for_each_line(
        file.bytes,
        |_| false,
        |line| {
            if std::mem::take(&mut is_first) && line.get("role").is_none() {
                read_about(&mut builder.session, &line);
                return;
            }
            let at = time(line.get("created"));
            read_message(&mut builder, &line, line.get("content").unwrap_or(&Value::Null), at);
        },
    );
    let session = &mut builder.session;
    session.unread = unread;
    if session.id.is_empty() {
        session.id = file.stem();
    }
    builder.finish().into_iter().collect()
}

fn read_about(session: &mut Session, about: &Value) {
    text(about, "id").unwrap_or_default().clone_into(&mut session.id);
    session.title = text(about, "name").or_else(|| text(about, "description")).map(str::to_owned);
    session.folder = text(about, "working_dir").map(str::to_owned);
}

fn parse_database(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let log = file.database_log();
    let database = open_image(file.bytes, log.as_deref())?;
    let mut sessions = Vec::new();
    for about in read_rows(&database, "SELECT * FROM sessions ORDER BY id", None)? {
        let mut builder = SessionBuilder::default();
        read_about(&mut builder.session, &about);
        let messages =
            "SELECT * FROM messages WHERE session_id = ?1 ORDER BY created_timestamp, id";
        for row in read_rows(&database, messages, text(&about, "id"))? {
            let content = text(&row, "content_json").unwrap_or_default();
            match serde_json::from_str(content) {
                Ok(content) => {
                    let at = time(row.get("created_timestamp"));
                    read_message(&mut builder, &row, &content, at);
                }
                Err(_) => builder.session.unread += 1,
            }
        }
        sessions.extend(builder.finish());
    }
    Ok(sessions)
}

fn read_message(
    builder: &mut SessionBuilder,
    message: &Value,
    content: &Value,
    at: Option<vademecum_model::Timestamp>,
) {
    let role = match text(message, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return,
    };
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut said: Vec<&str> = content.as_str().into_iter().collect();
    for part in parts {
        match text(part, "type") {
            Some("text") => said.extend(text(part, "text")),
            Some("thinking") => builder.think(at, text(part, "thinking").unwrap_or_default()),
            Some("toolResponse") => {
                let result = part.get("toolResult").and_then(|result| result.get("value"));
                let texts = result.into_iter().flat_map(|value| match value {
                    Value::Array(parts) => parts.iter().map(output_text).collect::<Vec<_>>(),
                    other => items(other, "content").map(output_text).collect(),
                });
                builder.output(at, &texts.collect::<Vec<_>>().join("\n"));
            }
            _ => {}
        }
    }
    builder.say(
        role,
        text(message, "message_id").or_else(|| text(message, "id")),
        at,
        &said.join("\n"),
    );
    for part in parts.iter().filter(|part| text(part, "type") == Some("toolRequest")) {
        if let Some(call) = part.get("toolCall").and_then(|call| call.get("value")) {
            let input = call.get("arguments").unwrap_or(&Value::Null);
            builder.call(text(call, "name").unwrap_or_default(), input);
        }
    }
}
