//! Amp: one JSON document for each thread.

use serde_json::Value;

use super::format::{AgentFormat, has_all, has_extension};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    text::{content_texts, items, output_text, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "amp",
    label: "Amp",
    detect: |path, head| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let says_so = has_all(head, &["\"messages\"", "\"created\""]);
        (name.starts_with("T-") && has_extension(path, &["json"]) && says_so).into()
    },
    parse,
    follow: None,
};

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let document = file.json()?;
    let mut builder = SessionBuilder::default();
    let session = &mut builder.session;
    session.id = text(&document, "id").map_or_else(|| file.stem(), str::to_owned);
    session.title = text(&document, "title").map(str::to_owned);
    session.started = time(document.get("created"));
    let tree = document.get("env").and_then(|env| env.get("initial")?.get("trees")?.get(0));
    let folder = tree.and_then(|tree| text(tree, "uri").or_else(|| text(tree, "displayName")));
    session.folder =
        folder.map(|folder| folder.strip_prefix("file://").unwrap_or(folder).to_owned());
    for message in items(&document, "messages") {
        let at = time(message.get("usage").and_then(|usage| usage.get("timestamp")))
            .or_else(|| time(message.get("meta").and_then(|meta| meta.get("sentAt"))));
        let role = match text(message, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => continue,
        };
        let content = message.get("content").unwrap_or(&Value::Null);
        let model = text_at(message, &["usage", "model"]);
        for part in items(message, "content") {
            match text(part, "type") {
                Some("thinking") => builder.think(at, text(part, "thinking").unwrap_or_default()),
                Some("tool_result") => {
                    let result = part.get("run").and_then(|run| run.get("result"));
                    let result = result.or_else(|| part.get("content"));
                    builder.output(at, &result.map(output_text).unwrap_or_default());
                }
                _ => {}
            }
        }
        builder.say_as(role, None, at, &content_texts(content).join("\n"), model);
        for part in items(message, "content") {
            if text(part, "type") == Some("tool_use") {
                let input = part.get("input").unwrap_or(&Value::Null);
                builder.call(text(part, "name").unwrap_or_default(), input);
            }
        }
    }
    Ok(builder.finish().into_iter().collect())
}
