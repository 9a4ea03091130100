//! The editor Cursor: a key-value store. A conversation lists its messages in `composerData:<id>`; each
//! is a value of its own.

use rusqlite::Connection;
use serde_json::Value;
use vademecum_formats::sqlite_image::{SIGNATURE, open_image, read_rows};

use super::format::{AgentFormat, has};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    text::{items, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "cursor-ide",
    label: "Cursor",
    detect: |path, head| {
        let is_named = path.file_name().is_some_and(|name| name == "state.vscdb");
        (head.starts_with(SIGNATURE) && (is_named || has(head, "cursorDiskKV"))).into()
    },
    parse,
    follow: None,
};

/// Conversations, by a range of keys, so that other values are not read.
const COMPOSERS: &str = "SELECT key, CAST(value AS TEXT) AS value FROM cursorDiskKV \
     WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL ORDER BY key";
/// The message ?1.
const BUBBLE: &str =
    "SELECT CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE key = ?1 AND value IS NOT NULL";
/// The oldest form.
const TABS: &str = "SELECT CAST(value AS TEXT) AS value FROM ItemTable \
     WHERE key = 'workbench.panel.aichat.view.aichat.chatdata'";

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let log = file.database_log();
    let database = open_image(file.bytes, log.as_deref())?;
    let workspace = file.neighbour_json("workspace.json");
    let folder = workspace.as_ref().and_then(|it| text(it, "folder"));
    let folder = folder.map(|it| it.strip_prefix("file://").unwrap_or(it).to_owned());
    let mut sessions = Vec::new();
    if has_table(&database, "cursorDiskKV")? {
        for row in read_rows(&database, COMPOSERS, None)? {
            let value = text(&row, "value").unwrap_or_default();
            // A conversation without content is null or has no messages.
            let Ok(composer) = serde_json::from_str::<Value>(value) else { continue };
            sessions.extend(read_composer(&database, &composer)?);
        }
    }
    if has_table(&database, "ItemTable")? {
        for row in read_rows(&database, TABS, None)? {
            let Ok(data) = serde_json::from_str::<Value>(text(&row, "value").unwrap_or_default())
            else {
                continue;
            };
            sessions.extend(items(&data, "tabs").filter_map(read_tab));
        }
    }
    for session in &mut sessions {
        session.folder = session.folder.take().or_else(|| folder.clone());
    }
    Ok(sessions)
}

fn has_table(database: &Connection, table: &str) -> Result<bool, SessionError> {
    let found = "SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    Ok(!read_rows(database, found, Some(table))?.is_empty())
}

fn read_composer(database: &Connection, composer: &Value) -> Result<Option<Session>, SessionError> {
    let mut builder = SessionBuilder::default();
    let id = text(composer, "composerId").unwrap_or_default().to_owned();
    for header in items(composer, "fullConversationHeadersOnly") {
        let Some(bubble_id) = text(header, "bubbleId") else { continue };
        let key = format!("bubbleId:{id}:{bubble_id}");
        for row in read_rows(database, BUBBLE, Some(&key))? {
            if let Ok(bubble) =
                serde_json::from_str::<Value>(text(&row, "value").unwrap_or_default())
            {
                read_bubble(&mut builder, &bubble, bubble_id);
            }
        }
    }
    for bubble in items(composer, "conversation") {
        let bubble_id = text(bubble, "bubbleId").unwrap_or_default().to_owned();
        read_bubble(&mut builder, bubble, &bubble_id);
    }
    let session = &mut builder.session;
    session.id = id;
    session.title = text(composer, "name").map(str::to_owned);
    session.started = time(composer.get("createdAt"));
    session.ended = time(composer.get("lastUpdatedAt"));
    Ok(builder.finish())
}

fn read_bubble(builder: &mut SessionBuilder, bubble: &Value, id: &str) {
    let at = time(bubble.get("timestamp")).or_else(|| time(bubble.get("createdAt")));
    let role = match bubble.get("type") {
        Some(kind) if kind == 1 || kind == "user" => Role::User,
        _ => Role::Assistant,
    };
    let session = &mut builder.session;
    let folder = text(bubble, "workspaceProjectDir").map(str::to_owned);
    session.folder = session.folder.take().or(folder);
    let said = text(bubble, "text").or_else(|| text(bubble, "rawText")).unwrap_or_default();
    builder.think(at, text_at(bubble, &["thinking", "text"]).unwrap_or_default());
    let model = text_at(bubble, &["modelInfo", "modelName"]);
    builder.say_as(role, Some(id), at, said, model);
    if let Some(call) = bubble.get("toolFormerData") {
        let input = call.get("rawArgs").or_else(|| call.get("params")).unwrap_or(&Value::Null);
        builder.call(text(call, "name").unwrap_or_default(), input);
        builder.output(at, text(call, "result").unwrap_or_default());
    }
}

fn read_tab(tab: &Value) -> Option<Session> {
    let mut builder = SessionBuilder::default();
    for bubble in items(tab, "bubbles") {
        let id = text(bubble, "id").unwrap_or_default().to_owned();
        read_bubble(&mut builder, bubble, &id);
    }
    let session = &mut builder.session;
    text(tab, "tabId")?.clone_into(&mut session.id);
    session.title = text(tab, "chatTitle").map(str::to_owned);
    session.ended = time(tab.get("lastSendTime"));
    builder.finish()
}
