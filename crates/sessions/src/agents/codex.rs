//! Codex: rollouts of JSON lines, of which `response_item` is the conversation. The same turns stand
//! again in `event_msg`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    codex_text::{parent_id, person_text},
    format::{AgentFormat, has_all, has_extension},
};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::{begins_with_field, read_lines},
    session_tail::{LineReader, Rewritten, follow_lines, parse_lines},
    text::{content_texts, items, output_text, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "codex",
    label: "Codex",
    detect: |path, head| {
        let is_packed = has_extension(path, &["zst"])
            && path.file_name().is_some_and(|name| name.to_string_lossy().contains(".jsonl."));
        let says_so = has_all(head, &["\"type\":\"session_meta\"", "\"payload\":{"])
            || has_all(head, &["\"type\":\"response_item\"", "\"payload\":{"]);
        (is_packed || has_extension(path, &["jsonl"]) && says_so).into()
    },
    parse: parse_lines::<CodexReader>,
    follow: Some(|file, tail| follow_lines::<CodexReader>(FORMAT.name, file, tail)),
};

/// Lines that are copies of the history, or of no interest. They may have hundreds of megabytes.
const SKIPPED: [&str; 4] = [
    "\"type\":\"compacted\"",
    "\"type\":\"world_state\"",
    "\"type\":\"token_usage_record\"",
    "\"type\":\"ghost_snapshot\"",
];

#[derive(Default, Serialize, Deserialize)]
struct CodexReader {
    /// Model that answers from now on.
    model: Option<String>,
    has_meta: bool,
}

impl LineReader for CodexReader {
    fn read(&mut self, bytes: &[u8], builder: &mut SessionBuilder) -> Result<usize, Rewritten> {
        let skips = |line: &[u8]| SKIPPED.iter().any(|field| begins_with_field(line, field));
        let end = read_lines(bytes, skips, |line, _| self.read_line(&line, builder));
        builder.session.unread += end.unread;
        Ok(end.offset)
    }

    fn finish(&self, file: &SessionFile<'_>, session: &mut Session) {
        if session.id.is_empty() {
            session.id = file.stem();
        }
    }
}

impl CodexReader {
    fn read_line(&mut self, line: &Value, builder: &mut SessionBuilder) {
        let Some(payload) = line.get("payload") else { return };
        let at = time(line.get("timestamp"));
        match text(line, "type") {
            // A fork repeats the lines of its parent after its own header.
            Some("session_meta") if !self.has_meta => {
                self.has_meta = true;
                read_meta(&mut builder.session, payload);
            }
            Some("turn_context") => {
                self.model = text(payload, "model").map(str::to_owned).or(self.model.take());
                let session = &mut builder.session;
                if session.folder.is_none() {
                    session.folder = text(payload, "cwd").map(str::to_owned);
                }
            }
            Some("response_item") => read_item(builder, payload, at, self.model.as_deref()),
            Some("event_msg") => read_event(builder, payload),
            _ => {}
        }
    }
}

fn read_meta(session: &mut Session, meta: &Value) {
    let own = |value: Option<&str>| value.map(str::to_owned);
    session.id = own(text(meta, "id").or_else(|| text(meta, "session_id"))).unwrap_or_default();
    session.folder = own(text(meta, "cwd"));
    session.version = own(text(meta, "cli_version"));
    session.branch = own(text_at(meta, &["git", "branch"]));
    session.remote = own(text_at(meta, &["git", "repository_url"]));
    session.parent = parent_id(meta);
}

fn read_item(
    builder: &mut SessionBuilder,
    item: &Value,
    at: Option<vademecum_model::Timestamp>,
    model: Option<&str>,
) {
    let id = text(item, "id");
    let input = || item.get("arguments").or_else(|| item.get("input")).unwrap_or(&Value::Null);
    match text(item, "type").unwrap_or("message") {
        "message" => match text(item, "role") {
            Some("user") => builder.say(Role::User, id, at, &person_text(item)),
            Some("assistant") => {
                let said = content_texts(item.get("content").unwrap_or(&Value::Null)).join("\n");
                builder.say_as(Role::Assistant, id, at, &said, model);
            }
            _ => {}
        },
        "reasoning" => {
            let parts: Vec<&str> =
                items(item, "summary").filter_map(|part| text(part, "text")).collect();
            builder.think(at, &parts.join("\n"));
        }
        "function_call" | "custom_tool_call" => {
            builder.call(text(item, "name").unwrap_or_default(), input());
        }
        "local_shell_call" => {
            builder.call("shell", item.get("action").unwrap_or(&Value::Null));
        }
        "function_call_output" | "custom_tool_call_output" => {
            builder.output(at, &item.get("output").map(output_text).unwrap_or_default());
        }
        _ => {}
    }
}

/// Reads the title and the changed files of an event; everything else stands in `response_item`.
fn read_event(builder: &mut SessionBuilder, event: &Value) {
    match text(event, "type") {
        Some("thread_name_updated") => {
            builder.session.title = text(event, "thread_name").map(str::to_owned);
        }
        Some("item_completed") => {
            let Some(item) = event.get("item") else { return };
            if text(item, "type") != Some("FileChange") {
                return;
            }
            match item.get("changes") {
                Some(Value::Object(changes)) => changes.keys().for_each(|path| builder.touch(path)),
                Some(Value::Array(changes)) => {
                    let paths = changes.iter().filter_map(|change| text(change, "path"));
                    paths.for_each(|path| builder.touch(path));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(bytes: &[u8]) -> Session {
        let none = |_: &Path| None;
        let path = Path::new("/r/rollout-1.jsonl.zst");
        let file = SessionFile { path, bytes, modified: None, read_neighbour: &none };
        (FORMAT.parse)(&file).unwrap().remove(0)
    }

    const ROLLOUT: &str = concat!(
        r#"{"type":"session_meta","payload":{"id":"c1","cwd":"/g","git":{"branch":"main","repository_url":"git@h:a/g.git"},"source":{"subagent":{"thread_spawn":{"parent_thread_id":"c0"}}}}}"#,
        "\n",
        r#"{"type":"compacted","payload":{"replacement_history":["#,
        "\n",
        r##"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions\n<INSTRUCTIONS>x</INSTRUCTIONS>"},{"type":"input_text","text":"<environment_context>y</environment_context> Which bed?"}]}}"##,
        "\n",
        r#"{"type":"event_msg","payload":{"type":"agent_message","message":"Bed 7."}}"#,
        "\n",
        r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Bed 7."}]}}"#,
        "\n",
        r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"FileChange","changes":{"plan.md":{}}}}}"#,
    );

    #[test]
    fn packed_rollout_is_read_once() {
        for bytes in
            [ROLLOUT.as_bytes().to_vec(), zstd::bulk::compress(ROLLOUT.as_bytes(), 3).unwrap()]
        {
            let session = read(&bytes);
            let said: Vec<_> = session.turns.iter().map(|turn| turn.text.as_str()).collect();
            assert_eq!((said, session.unread), (vec!["Which bed?", "Bed 7."], 0));
            assert_eq!(session.parent.as_deref(), Some("c0"));
            assert_eq!(session.remote.as_deref(), Some("git@h:a/g.git"));
            assert_eq!(session.turns[1].files, ["plan.md"]);
        }
    }
}
