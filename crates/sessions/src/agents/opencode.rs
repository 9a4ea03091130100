//! `OpenCode`: a database of sessions, messages and their parts.

use rusqlite::Connection;
use serde_json::Value;
use vademecum_formats::sqlite_image::{SIGNATURE, open_image, read_rows};

use super::format::{AgentFormat, has};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    text::{output_text, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "opencode",
    label: "OpenCode",
    detect: |path, head| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = name.starts_with("opencode") && name.ends_with(".db");
        let says_so = has(head, "session_id") && has(head, "message_id") && has(head, "directory");
        (head.starts_with(SIGNATURE) && (is_named || says_so)).into()
    },
    parse,
    follow: None,
};

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let log = file.database_log();
    let database = open_image(file.bytes, log.as_deref())?;
    let mut sessions = Vec::new();
    for row in read_rows(&database, "SELECT * FROM session ORDER BY id", None)? {
        sessions.extend(read_session(&database, &row)?);
    }
    Ok(sessions)
}

fn read_session(database: &Connection, row: &Value) -> Result<Option<Session>, SessionError> {
    let mut builder = SessionBuilder::default();
    let session = &mut builder.session;
    let own = |key: &str| text(row, key).map(str::to_owned);
    session.id = own("id").unwrap_or_default();
    session.parent = own("parent_id");
    session.title = own("title");
    session.folder = own("directory");
    session.version = own("version");
    let id = session.id.clone();
    let revert: Option<Value> = text(row, "revert").and_then(|it| serde_json::from_str(it).ok());
    // Messages from this one on were taken back. Identifiers rise with time.
    let taken_back = revert.as_ref().and_then(|revert| text(revert, "messageID"));
    let messages = "SELECT * FROM message WHERE session_id = ?1 ORDER BY time_created, id";
    for message in read_rows(database, messages, Some(&id))? {
        let message_id = text(&message, "id").unwrap_or_default();
        if taken_back.is_some_and(|from| message_id >= from) {
            continue;
        }
        let data: Option<Value> =
            text(&message, "data").and_then(|it| serde_json::from_str(it).ok());
        let Some(data) = data else {
            builder.session.unread += 1;
            continue;
        };
        read_message(database, &mut builder, message_id, &data)?;
    }
    Ok(builder.finish())
}

fn read_message(
    database: &Connection,
    builder: &mut SessionBuilder,
    id: &str,
    data: &Value,
) -> Result<(), SessionError> {
    let at = time(data.get("time").and_then(|time| time.get("created")));
    let role = match text(data, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Ok(()),
    };
    let model = text(data, "modelID").or_else(|| text_at(data, &["model", "modelID"]));
    let mut calls = Vec::new();
    let parts = "SELECT data FROM part WHERE message_id = ?1 ORDER BY id";
    for part in read_rows(database, parts, Some(id))? {
        let part: Option<Value> = text(&part, "data").and_then(|it| serde_json::from_str(it).ok());
        let Some(part) = part else {
            builder.session.unread += 1;
            continue;
        };
        match text(&part, "type") {
            Some("text") if part.get("synthetic") != Some(&Value::Bool(true)) => {
                let said = text(&part, "text").unwrap_or_default();
                builder.say_as(role, Some(id), at, said, model);
            }
            Some("reasoning") => builder.think(at, text(&part, "text").unwrap_or_default()),
            Some("tool") => calls.push(part),
            _ => {}
        }
    }
    for call in calls {
        let Some(state) = call.get("state") else { continue };
        let input = state.get("input").unwrap_or(&Value::Null);
        builder.call(text(&call, "tool").unwrap_or_default(), input);
        builder.output(at, &state.get("output").map(output_text).unwrap_or_default());
    }
    Ok(())
}
