//! Kimi Code: a log of the events of each turn. Answers come in pieces.

use serde_json::Value;
use vademecum_model::Timestamp;

use super::format::{AgentFormat, has, has_extension};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::for_each_line,
    text::{content_texts, output_text, text, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "kimi",
    label: "Kimi Code",
    detect: |path, head| {
        let says_so = has(head, "\"type\":\"context.append_message\"")
            || has(head, "\"type\":\"turn.prompt\"")
            || has(head, "\"type\":\"metadata\",\"protocol_version\"");
        (has_extension(path, &["jsonl"]) && says_so).into()
    },
    parse: |file| Ok(parse(file)),
    follow: None,
};

/// The answer that is being read.
#[derive(Default)]
struct Answer {
    at: Option<Timestamp>,
    said: String,
    thought: String,
    calls: Vec<(String, Value)>,
}

impl Answer {
    fn finish(&mut self, builder: &mut SessionBuilder) {
        let Self { at, said, thought, calls } = std::mem::take(self);
        builder.think(at, &thought);
        builder.say(Role::Assistant, None, at, &said);
        for (tool, input) in &calls {
            builder.call(tool, input);
        }
    }
}

fn parse(file: &SessionFile<'_>) -> Vec<Session> {
    let mut builder = SessionBuilder::default();
    let mut answer = Answer::default();
    let unread = for_each_line(
        file.bytes,
        |_| false,
        |line| {
            let at = time(line.get("time"));
            match text(&line, "type").unwrap_or_default() {
                "context.append_message" => {
                    answer.finish(&mut builder);
                    let Some(message) = line.get("message") else { return };
                    let content = message.get("content").unwrap_or(&Value::Null);
                    let said = content_texts(content).join("\n");
                    match text(message, "role") {
                        Some("user") => builder.say(Role::User, None, at, &said),
                        Some("assistant") => builder.say(Role::Assistant, None, at, &said),
                        Some("tool") => builder.output(at, &said),
                        _ => {}
                    }
                }
                "turn.prompt" => {
                    let said = line.get("input").map(content_texts).unwrap_or_default().join("\n");
                    let repeats =
                        builder.session.turns.last().is_some_and(|turn| turn.text == said.trim());
                    if !repeats {
                        answer.finish(&mut builder);
                        builder.say(Role::User, None, at, &said);
                    }
                }
                "context.append_loop_event" => {
                    if let Some(event) = line.get("event") {
                        read_event(&mut builder, &mut answer, event, at);
                    }
                }
                _ => {}
            }
        },
    );
    answer.finish(&mut builder);
    let session = &mut builder.session;
    session.unread = unread;
    // The path is `<session>/agents/<agent>/wire.jsonl`.
    let agent = file.folder_name(1).unwrap_or_default();
    let id = file.folder_name(3).unwrap_or_else(|| file.stem());
    if let Some(state) = file.neighbour_json("../../state.json") {
        session.folder = text(&state, "workDir").map(str::to_owned);
        session.title = text(&state, "title").map(str::to_owned);
    }
    if agent.starts_with("agent-") {
        session.title = None;
        (session.id, session.parent) = (format!("{id}/{agent}"), Some(id));
    } else {
        session.id = id;
    }
    builder.finish().into_iter().collect()
}

fn read_event(
    builder: &mut SessionBuilder,
    answer: &mut Answer,
    event: &Value,
    at: Option<Timestamp>,
) {
    match text(event, "type").unwrap_or_default() {
        "step.begin" => {
            answer.finish(builder);
            answer.at = at;
        }
        "step.end" => answer.finish(builder),
        "content.part" => {
            let Some(part) = event.get("part") else { return };
            answer.at = answer.at.or(at);
            // Pieces may begin or end with white space, which separates words.
            let piece = part.get("text").or_else(|| part.get("think")).and_then(Value::as_str);
            let piece = piece.unwrap_or_default();
            match text(part, "type") {
                Some("text") => answer.said.push_str(piece),
                Some("think") => answer.thought.push_str(piece),
                _ => {}
            }
        }
        "tool.call" => {
            let input = event.get("args").or_else(|| event.get("input")).cloned();
            let tool = text(event, "name").unwrap_or_default().to_owned();
            answer.calls.push((tool, input.unwrap_or_default()));
        }
        "tool.result" => {
            let output = event.get("result").or_else(|| event.get("output"));
            builder.output(at, &output.map(output_text).unwrap_or_default());
        }
        _ => {}
    }
}
