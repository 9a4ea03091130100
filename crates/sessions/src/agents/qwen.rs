//! Qwen Code: the lines of Claude Code with the parts of Gemini.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::format::{AgentFormat, has_all, has_extension};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::read_lines,
    session_tail::{LineReader, Rewritten, follow_lines, parse_lines},
    text::{items, output_text, text, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "qwen",
    label: "Qwen Code",
    detect: |path, head| {
        let says_so = has_all(head, &["\"sessionId\":", "\"message\":{", "\"parts\":["]);
        (has_extension(path, &["jsonl"]) && says_so).into()
    },
    parse: parse_lines::<QwenReader>,
    follow: Some(|file, tail| follow_lines::<QwenReader>(FORMAT.name, file, tail)),
};

#[derive(Default, Serialize, Deserialize)]
struct QwenReader {}

impl LineReader for QwenReader {
    fn read(&mut self, bytes: &[u8], builder: &mut SessionBuilder) -> Result<usize, Rewritten> {
        let end = read_lines(bytes, |_| false, |line, _| read_line(&line, builder));
        builder.session.unread += end.unread;
        Ok(end.offset)
    }

    fn finish(&self, file: &SessionFile<'_>, session: &mut Session) {
        if session.id.is_empty() {
            session.id = file.stem();
        }
    }
}

fn read_line(line: &Value, builder: &mut SessionBuilder) {
    let session = &mut builder.session;
    if session.id.is_empty() {
        text(line, "sessionId").unwrap_or_default().clone_into(&mut session.id);
    }
    for (field, key) in [(&mut session.folder, "cwd"), (&mut session.branch, "gitBranch")] {
        *field = field.take().or_else(|| text(line, key).map(str::to_owned));
    }
    let at = time(line.get("timestamp"));
    let Some(message) = line.get("message") else { return };
    let role = match text(message, "role") {
        Some("user") => Role::User,
        Some("model" | "assistant") => Role::Assistant,
        _ => return,
    };
    let (mut said, mut calls) = (Vec::new(), Vec::new());
    for part in items(message, "parts") {
        match text(part, "text") {
            Some(thought) if part.get("thought") == Some(&Value::Bool(true)) => {
                builder.think(at, thought);
            }
            Some(text) => said.push(text),
            None => {}
        }
        calls.extend(part.get("functionCall"));
        if let Some(response) = part.get("functionResponse").and_then(|it| it.get("response")) {
            builder.output(at, &output_text(response));
        }
    }
    let model = text(line, "model").or_else(|| text(message, "model"));
    builder.say_as(role, text(line, "uuid"), at, &said.join("\n"), model);
    for call in calls {
        let input = call.get("args").unwrap_or(&Value::Null);
        builder.call(text(call, "name").unwrap_or_default(), input);
    }
}
