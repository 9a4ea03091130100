//! The command line of Cursor: transcripts without times.

use super::format::{AgentFormat, has_all, has_extension, is_below};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::for_each_line,
    text::{items, text},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "cursor-cli",
    label: "Cursor CLI",
    detect: |path, head| {
        let is_line = has_all(head, &["{\"role\":\"", "\"message\":{\"content\":"]);
        let is_place = is_below(path, "agent-transcripts");
        (has_extension(path, &["jsonl"])
            && is_line
            && (is_place || !has_all(head, &["\"type\":\"user\""])))
        .into()
    },
    parse: |file| Ok(parse(file)),
    follow: None,
};

fn parse(file: &SessionFile<'_>) -> Vec<Session> {
    let mut builder = SessionBuilder::default();
    builder.session.unread = for_each_line(
        file.bytes,
        |_| false,
        |line| {
            let role = match text(&line, "role") {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => return,
            };
            let Some(message) = line.get("message") else { return };
            let mut said: Vec<&str> = text(message, "content").into_iter().collect();
            said.extend(items(message, "content").filter_map(|part| text(part, "text")));
            let said = said.join("\n");
            let said = match role {
                Role::User => said.replace("<user_query>", "").replace("</user_query>", ""),
                Role::Assistant => said,
            };
            builder.say(role, None, None, &said);
            for part in items(message, "content") {
                if text(part, "type") == Some("tool_use") {
                    let input = part.get("input").unwrap_or(&serde_json::Value::Null);
                    builder.call(text(part, "name").unwrap_or_default(), input);
                }
            }
        },
    );
    let session = &mut builder.session;
    session.id = file.stem();
    if file.folder_name(1).as_deref() == Some("subagents") {
        session.parent = file.folder_name(2);
    }
    builder.finish().into_iter().collect()
}
