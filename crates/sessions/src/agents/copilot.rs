//! Copilot CLI: a log of events.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::format::{AgentFormat, has, has_extension};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::read_lines,
    session_tail::{LineReader, Rewritten, follow_lines, parse_lines},
    text::{output_text, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "copilot-cli",
    label: "Copilot CLI",
    detect: |path, head| {
        (has_extension(path, &["jsonl"]) && has(head, "\"type\":\"session.start\"")).into()
    },
    parse: parse_lines::<CopilotReader>,
    follow: Some(|file, tail| follow_lines::<CopilotReader>(FORMAT.name, file, tail)),
};

#[derive(Default, Serialize, Deserialize)]
struct CopilotReader {
    /// Model that answers from now on.
    model: Option<String>,
    /// The place of each event in the conversation, for a rewind to it; of those that are read now.
    #[serde(skip)]
    places: Vec<(String, usize)>,
}

impl LineReader for CopilotReader {
    fn read(&mut self, bytes: &[u8], builder: &mut SessionBuilder) -> Result<usize, Rewritten> {
        let is_whole = builder.session.turns.is_empty();
        let mut read = Ok(());
        let end = read_lines(
            bytes,
            |_| false,
            |event, _| {
                read = read.and(self.read_event(&event, builder));
            },
        );
        builder.session.unread += end.unread;
        match read {
            Err(Rewritten) if !is_whole => Err(Rewritten),
            Ok(()) | Err(Rewritten) => Ok(end.offset),
        }
    }

    fn finish(&self, file: &SessionFile<'_>, session: &mut Session) {
        if session.id.is_empty() {
            let folder = file.folder_name(1).filter(|_| file.stem() == "events");
            session.id = folder.unwrap_or_else(|| file.stem());
        }
        // The file has one field a line.
        let about = file.neighbour_text("workspace.yaml").unwrap_or_default();
        let field = |key: &str| {
            let line = about.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            line.map(|value| value.trim().trim_matches('"').to_owned())
                .filter(|value| !value.is_empty())
        };
        session.title = session.title.take().or_else(|| field("name"));
        session.branch = session.branch.take().or_else(|| field("branch"));
        session.folder = session.folder.take().or_else(|| field("cwd"));
    }
}

impl CopilotReader {
    /// Reads an event. Fails for a rewind to an event that is not among those that are read now.
    fn read_event(&mut self, event: &Value, builder: &mut SessionBuilder) -> Result<(), Rewritten> {
        let at = time(event.get("timestamp"));
        let data = event.get("data").unwrap_or(&Value::Null);
        let id = text(event, "id");
        if let Some(id) = id {
            self.places.push((id.to_owned(), builder.session.turns.len()));
        }
        match text(event, "type").unwrap_or_default() {
            kind @ ("session.start" | "session.resume") => {
                let chosen = text(data, "selectedModel").map(str::to_owned);
                self.model = chosen.or(self.model.take());
                read_start(&mut builder.session, data, kind == "session.start");
            }
            "session.model_change" => self.model = text(data, "newModel").map(str::to_owned),
            "session.title_changed" => {
                builder.session.title = text(data, "title").map(str::to_owned);
            }
            "session.snapshot_rewind" => {
                let to = ["upToEventId", "eventId"].iter().find_map(|key| text(data, key));
                let place = self.places.iter().find(|(id, _)| Some(id.as_str()) == to);
                let Some((_, place)) = place else { return Err(Rewritten) };
                builder.session.turns.truncate(*place);
            }
            "user.message" => {
                let said = text(data, "content").unwrap_or_default();
                builder.say(Role::User, text(data, "messageId").or(id), at, said);
            }
            "assistant.message" => {
                builder.think(at, text(data, "reasoningText").unwrap_or_default());
                let said = text(data, "content").unwrap_or_default();
                let model = text(data, "model").or(self.model.as_deref());
                let id = text(data, "messageId").or(id);
                builder.say_as(Role::Assistant, id, at, said, model);
            }
            "tool.execution_start" => {
                let input = data.get("arguments").unwrap_or(&Value::Null);
                builder.call(text(data, "toolName").unwrap_or_default(), input);
            }
            "tool.execution_complete" => {
                let output = data.get("result").map(output_text).unwrap_or_default();
                builder.output(at, &output);
            }
            "session.shutdown" => {
                let changes = data.get("codeChanges").and_then(|it| it.get("filesModified"));
                let paths = changes.and_then(Value::as_array).into_iter().flatten();
                paths.filter_map(Value::as_str).for_each(|path| builder.touch(path));
            }
            _ => {}
        }
        Ok(())
    }
}

fn read_start(session: &mut Session, data: &Value, is_new: bool) {
    let own = |value: Option<&str>| value.map(str::to_owned);
    if is_new && session.id.is_empty() {
        session.id = own(text(data, "sessionId")).unwrap_or_default();
        session.version = own(text(data, "copilotVersion"));
    }
    session.folder = session.folder.take().or_else(|| own(text_at(data, &["context", "cwd"])));
    session.branch = session.branch.take().or_else(|| own(text_at(data, &["context", "branch"])));
    let remote = text_at(data, &["context", "repository"]);
    session.remote = session.remote.take().or_else(|| own(remote));
}
