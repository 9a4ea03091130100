//! The chat of VS Code and of editors made from it: one document, or a log of operations on it.

use serde_json::Value;

use super::{
    format::{AgentFormat, has, has_extension, is_below},
    vscode_log::replay,
};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    text::{items, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "vscode-chat",
    label: "VS Code chat",
    detect: |path, head| {
        let is_place = ["chatSessions", "emptyWindowChatSessions", "transferredChatSessions"]
            .iter()
            .any(|folder| is_below(path, folder));
        let says_so = has(head, "\"requests\"") || has(head, "\"sessionId\"");
        (is_place && has_extension(path, &["json", "jsonl"]) && says_so).into()
    },
    parse,
    follow: None,
};

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let mut builder = SessionBuilder::default();
    let document = if has_extension(file.path, &["jsonl"]) {
        let (document, unread) = replay(file.bytes);
        builder.session.unread = unread;
        document
    } else {
        file.json()?
    };
    let session = &mut builder.session;
    session.id = text(&document, "sessionId").map_or_else(|| file.stem(), str::to_owned);
    session.title = text(&document, "customTitle").map(str::to_owned);
    session.started = time(document.get("creationDate"));
    if let Some(workspace) = file.neighbour_json("../workspace.json") {
        let folder = text(&workspace, "folder").or_else(|| text(&workspace, "workspace"));
        session.folder = folder.map(decode_file_address);
    }
    for request in items(&document, "requests") {
        read_request(&mut builder, request);
    }
    Ok(builder.finish().into_iter().collect())
}

fn read_request(builder: &mut SessionBuilder, request: &Value) {
    let at = time(request.get("timestamp"));
    let said = text_at(request, &["message", "text"]).or_else(|| text(request, "message"));
    builder.say(Role::User, text(request, "requestId"), at, said.unwrap_or_default());
    let mut answer = String::new();
    let mut calls = Vec::new();
    for part in items(request, "response") {
        match text(part, "kind") {
            None | Some("markdownContent") => {
                let value = part.get("value").or_else(|| part.get("content"));
                let value =
                    value.and_then(|value| value.as_str().or_else(|| value.get("value")?.as_str()));
                answer.push_str(value.unwrap_or_default());
            }
            Some("inlineReference") => {
                let name = text(part, "name").or_else(|| {
                    let path = ["inlineReference", "path"];
                    let path = text_at(part, &path)
                        .or_else(|| text(part.get("inlineReference")?.get("uri")?, "path"));
                    path.map(|path| path.rsplit('/').next().unwrap_or(path))
                });
                answer.push_str(name.unwrap_or_default());
            }
            Some("thinking") => builder.think(at, text(part, "value").unwrap_or_default()),
            Some("toolInvocationSerialized") => calls.push(part),
            Some("textEditGroup") => {
                if let Some(path) = text_at(part, &["uri", "path"]) {
                    builder.touch(path);
                }
            }
            Some(_) => {}
        }
    }
    let id = text(request, "responseId");
    builder.say_as(Role::Assistant, id, at, &answer, text(request, "modelId"));
    for call in calls {
        let Some(data) = call.get("toolSpecificData") else { continue };
        if text(data, "kind") == Some("terminal") {
            let command =
                text(data, "command").or_else(|| text_at(data, &["commandLine", "original"]));
            builder.call("terminal", &Value::from(command.unwrap_or_default()));
        }
    }
}

/// Returns the path in an address such as `file:///home/ada/my%20garden`.
fn decode_file_address(address: &str) -> String {
    let path = address.strip_prefix("file://").unwrap_or(address);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(decoded) = decoded.filter(|_| *byte == b'%') {
            bytes.push(decoded);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn log_of_operations_is_replayed() {
        let log = concat!(
            r#"{"kind":0,"v":{"sessionId":"s","requests":[{"requestId":"r","message":{"text":"Q"},"response":[{"value":"par"}]}]}}"#,
            "\n",
            r#"{"kind":1,"k":["requests",0,"response",0],"v":{"value":"Whole"}}"#,
        );
        let workspace = |path: &Path| {
            path.ends_with("a1/workspace.json")
                .then(|| br#"{"folder":"file:///home/ada/my%20garden"}"#.to_vec())
        };
        let path = Path::new("/w/a1/chatSessions/s.jsonl");
        let file =
            SessionFile { path, bytes: log.as_bytes(), modified: None, read_neighbour: &workspace };
        let sessions = parse(&file).unwrap();
        let said: Vec<_> = sessions[0].turns.iter().map(|turn| turn.text.as_str()).collect();
        assert_eq!(said, ["Q", "Whole"]);
        assert_eq!(sessions[0].folder.as_deref(), Some("/home/ada/my garden"));
    }
}
