//! Zed: a database of threads, each a JSON document that may be packed.

use rusqlite::Row;
use serde_json::Value;
use vademecum_formats::sqlite_image::{SIGNATURE, open_image};

use super::format::{AgentFormat, has_all};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    session_file::unpack_zstd,
    text::{items, output_text, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "zed",
    label: "Zed",
    detect: |_, head| {
        (head.starts_with(SIGNATURE) && has_all(head, &["threads", "data_type"])).into()
    },
    parse,
    follow: None,
};

/// The columns that every version has. The document has the others.
const THREADS: &str = "SELECT * FROM threads ORDER BY id";

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let log = file.database_log();
    let database = open_image(file.bytes, log.as_deref())?;
    let mut statement = database.prepare(THREADS)?;
    let mut rows = statement.query([])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.extend(read_thread(row).ok().flatten());
    }
    Ok(sessions)
}

fn read_thread(row: &Row<'_>) -> Result<Option<Session>, SessionError> {
    let column = |name: &str| {
        let found = row.get::<_, Option<String>>(name).ok().flatten();
        found.filter(|text| !text.is_empty())
    };
    let data = row.get_ref("data")?;
    let data = data.as_bytes_or_null().ok().flatten().unwrap_or_default();
    let document: Value = match column("data_type").as_deref() {
        Some("zstd") => serde_json::from_slice(&unpack_zstd(data)?)?,
        _ => serde_json::from_slice(data)?,
    };
    let mut builder = SessionBuilder::default();
    let session = &mut builder.session;
    session.id = column("id").unwrap_or_default();
    session.parent = column("parent_id");
    let title = text(&document, "title").or_else(|| text(&document, "summary"));
    session.title = title.map(str::to_owned).or_else(|| column("summary"));
    // Several folders stand on a line each.
    session.folder =
        column("folder_paths").and_then(|paths| Some(paths.lines().next()?.to_owned()));
    let updated =
        time(document.get("updated_at")).or(time(column("updated_at").map(Value::from).as_ref()));
    session.ended = updated;
    session.started = time(column("created_at").map(Value::from).as_ref()).or(updated);
    session.model = text_at(&document, &["model", "model"]).map(str::to_owned);
    for message in items(&document, "messages") {
        if let Some(said) = message.get("User") {
            read_parts(&mut builder, Role::User, said);
        } else if let Some(said) = message.get("Agent") {
            read_parts(&mut builder, Role::Assistant, said);
        } else {
            read_segments(&mut builder, message);
        }
    }
    Ok(builder.finish())
}

/// Reads a message of the present form.
fn read_parts(builder: &mut SessionBuilder, role: Role, message: &Value) {
    let mut said = Vec::new();
    for part in items(message, "content") {
        if let Some(text) = text(part, "Text") {
            said.push(text.to_owned());
        } else if let Some(mention) = part.get("Mention") {
            said.extend(text(mention, "content").map(str::to_owned));
        } else if let Some(thought) = part.get("Thinking") {
            builder.think(None, text(thought, "text").unwrap_or_default());
        }
    }
    builder.say(role, text(message, "id"), None, &said.join("\n"));
    for call in items(message, "content").filter_map(|part| part.get("ToolUse")) {
        let input = call.get("input").or_else(|| call.get("raw_input")).unwrap_or(&Value::Null);
        builder.call(text(call, "name").unwrap_or_default(), input);
    }
    let results = message.get("tool_results").and_then(Value::as_object);
    for result in results.into_iter().flat_map(serde_json::Map::values) {
        let output = result.get("output").or_else(|| result.get("content"));
        builder.output(None, &output.map(output_text).unwrap_or_default());
    }
}

/// Reads a message of the earlier form.
fn read_segments(builder: &mut SessionBuilder, message: &Value) {
    let role = match text(message, "role") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return,
    };
    let mut said = Vec::new();
    for segment in items(message, "segments") {
        match text(segment, "type") {
            Some("text") => said.extend(text(segment, "text")),
            Some("thinking") => builder.think(None, text(segment, "text").unwrap_or_default()),
            _ => {}
        }
    }
    builder.say(role, None, None, &said.join("\n"));
    for call in items(message, "tool_uses") {
        let input = call.get("input").unwrap_or(&Value::Null);
        builder.call(text(call, "name").unwrap_or_default(), input);
    }
}
