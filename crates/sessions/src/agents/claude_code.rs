//! Claude Code: a JSON line for each part of a message, linked to a tree by `parentUuid`.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::format::{AgentFormat, has_all, has_extension};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::for_each_line,
    text::{content_texts, cut_leading_blocks, items, output_text, text, text_at, time},
};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "claude-code",
    label: "Claude Code",
    detect: |path, head| {
        let is_line = has_all(head, &["\"type\":", "\"message\":{"])
            || has_all(head, &["\"sessionId\":", "\"type\":"]);
        let is_turn = has_all(head, &["\"timestamp\":"]) || has_all(head, &["\"parentUuid\":"]);
        (has_extension(path, &["jsonl"]) && is_line && is_turn && !has_all(head, &["\"parts\":["]))
            .into()
    },
    parse: |file| Ok(parse(file)),
};

/// Blocks that the program puts before a prompt.
const GLUED_BLOCKS: [&str; 3] = ["system-reminder", "ide_opened_file", "ide_selection"];
/// Beginnings of texts that the program writes in the person's name.
const MACHINE_TEXTS: [&str; 7] = [
    "<local-command",
    "<command-name>",
    "<command-message>",
    "<task-notification>",
    "This session is being continued",
    "[Request interrupted",
    "Stop hook feedback:",
];

/// A line of the tree.
struct Line {
    uuid: Option<String>,
    parent: Option<String>,
    message_id: Option<String>,
    value: Value,
}

fn parse(file: &SessionFile<'_>) -> Vec<Session> {
    let mut lines = Vec::new();
    let mut names = Names::default();
    let unread = for_each_line(
        file.bytes,
        |_| false,
        |value| {
            names.read(&value);
            // A fork in the background copies lines, and only their identifiers say so.
            let own = |key| text(&value, key).map(str::to_owned);
            lines.push(Line {
                uuid: own("uuid"),
                parent: own("parentUuid").or_else(|| own("logicalParentUuid")),
                message_id: text_at(&value, &["message", "id"]).map(str::to_owned),
                value,
            });
        },
    );
    let is_subagent = is_subagent(file, &lines);
    let mut builder = SessionBuilder::default();
    let kept = last_branch(&lines, is_subagent);
    for (line, _) in lines.iter().zip(kept).filter(|(_, is_kept)| *is_kept) {
        read_line(&line.value, &mut builder);
    }
    let session = &mut builder.session;
    session.unread = unread;
    session.title = names.custom_title.or(names.generated_title);
    let stem = file.stem();
    if is_subagent {
        let own = stem.strip_prefix("agent-").unwrap_or(&stem).to_owned();
        session.id = names.agent.unwrap_or(own);
        session.parent = names.sessions.into_iter().next();
        let about = file.neighbour_json(&format!("{stem}.meta.json"));
        let described = about.as_ref().and_then(|about| text(about, "description"));
        session.title = described.map(str::to_owned).or_else(|| session.title.take());
    } else {
        let first = names.sessions.iter().find(|id| **id == stem).or(names.sessions.first());
        session.id = first.cloned().unwrap_or(stem);
    }
    builder.finish().into_iter().collect()
}

/// Identifiers and titles in the lines of a file.
#[derive(Default)]
struct Names {
    custom_title: Option<String>,
    generated_title: Option<String>,
    agent: Option<String>,
    sessions: Vec<String>,
}

impl Names {
    fn read(&mut self, line: &Value) {
        match text(line, "type") {
            Some("custom-title") => {
                self.custom_title = text(line, "customTitle").map(str::to_owned);
            }
            Some("ai-title") => {
                self.generated_title = text(line, "aiTitle").map(str::to_owned);
            }
            _ => {}
        }
        if self.agent.is_none() {
            self.agent = text(line, "agentId").map(str::to_owned);
        }
        if let Some(id) = text(line, "sessionId")
            && self.sessions.len() < 100
            && !self.sessions.iter().any(|known| known == id)
        {
            self.sessions.push(id.to_owned());
        }
    }
}

/// Returns whether the file is that of a subagent: all of its messages are of a side chain.
fn is_subagent(file: &SessionFile<'_>, lines: &[Line]) -> bool {
    let is_side = |line: &&Line| line.value.get("isSidechain") == Some(&Value::Bool(true));
    let mut messages = lines.iter().filter(|line| line.value.get("message").is_some()).peekable();
    let is_named = file.stem().starts_with("agent-");
    is_named || messages.peek().is_some() && messages.all(|line| is_side(&line))
}

/// Returns for each line whether it belongs to the conversation: it is on the path to the last
/// message. After a rewind, a file has several branches.
fn last_branch(lines: &[Line], is_subagent: bool) -> Vec<bool> {
    let is_side = |line: &Line| line.value.get("isSidechain") == Some(&Value::Bool(true));
    let counts = |line: &Line| is_subagent || !is_side(line);
    let places: HashMap<&str, usize> = lines
        .iter()
        .enumerate()
        .filter_map(|(place, line)| Some((line.uuid.as_deref()?, place)))
        .collect();
    let is_leaf =
        |line: &Line| line.uuid.is_some() && line.value.get("message").is_some() && counts(line);
    let mut on_path = HashSet::new();
    let mut next = lines.iter().rposition(is_leaf);
    while let Some(place) = next.filter(|place| on_path.insert(*place)) {
        let Some(parent) = lines.get(place).and_then(|line| line.parent.as_deref()) else { break };
        // If the parent is not in the file, the line before replaces it.
        next =
            places.get(parent).copied().or_else(|| lines.get(..place)?.iter().rposition(is_leaf));
    }
    let answers: HashSet<&str> =
        on_path.iter().filter_map(|place| lines.get(*place)?.message_id.as_deref()).collect();
    let is_kept = |(place, line): (usize, &Line)| {
        let of_answer = line.message_id.as_deref().is_some_and(|id| answers.contains(id));
        // The results of calls made together have one call each as their parent.
        let parent = line.parent.as_deref().and_then(|parent| places.get(parent));
        let of_parent = is_result(&line.value)
            && parent.and_then(|place| lines.get(*place)).is_some_and(|parent| {
                parent.message_id.as_deref().is_some_and(|id| answers.contains(id))
            });
        counts(line) && (line.uuid.is_none() || on_path.contains(&place) || of_answer || of_parent)
    };
    lines.iter().enumerate().map(is_kept).collect()
}

fn is_result(line: &Value) -> bool {
    line.get("message")
        .into_iter()
        .flat_map(|message| items(message, "content"))
        .any(|part| text(part, "type") == Some("tool_result"))
}

fn read_line(line: &Value, builder: &mut SessionBuilder) {
    let session = &mut builder.session;
    for (field, key) in [
        (&mut session.folder, "cwd"),
        (&mut session.branch, "gitBranch"),
        (&mut session.version, "version"),
    ] {
        if field.is_none() {
            *field = text(line, key).map(str::to_owned);
        }
    }
    let at = time(line.get("timestamp"));
    let is_true = |key: &str| line.get(key) == Some(&Value::Bool(true));
    if is_true("isMeta") || is_true("isCompactSummary") {
        return;
    }
    let kind = text(line, "type").unwrap_or_default();
    if kind == "attachment" {
        if let Some(queued) = line.get("attachment")
            && text(queued, "type") == Some("queued_command")
            && let Some(prompt) = queued.get("prompt")
        {
            say_prompt(builder, text(line, "uuid"), at, prompt);
        }
        return;
    }
    let Some(message) = line.get("message") else { return };
    let Some(content) = message.get("content") else { return };
    match text(message, "role").unwrap_or(kind) {
        "user" => {
            for part in items(message, "content") {
                if text(part, "type") == Some("tool_result") {
                    builder.output(at, &part.get("content").map(output_text).unwrap_or_default());
                }
            }
            say_prompt(builder, text(line, "uuid"), at, content);
        }
        "assistant" => read_answer(builder, line, message, at),
        _ => {}
    }
}

fn say_prompt(
    builder: &mut SessionBuilder,
    id: Option<&str>,
    at: Option<vademecum_model::Timestamp>,
    content: &Value,
) {
    let texts: Vec<&str> = content_texts(content)
        .into_iter()
        .map(|text| cut_leading_blocks(text, &GLUED_BLOCKS))
        .filter(|text| !MACHINE_TEXTS.iter().any(|begins| text.starts_with(begins)))
        .filter(|text| !text.trim().is_empty())
        .collect();
    builder.say(Role::User, id, at, &texts.join("\n"));
}

fn read_answer(
    builder: &mut SessionBuilder,
    line: &Value,
    message: &Value,
    at: Option<vademecum_model::Timestamp>,
) {
    let id = text(message, "id").or_else(|| text(line, "uuid"));
    let model = text(message, "model").filter(|model| *model != "<synthetic>");
    let parts: Vec<&Value> = items(message, "content").collect();
    if let Some(said) = text(message, "content") {
        builder.say_as(Role::Assistant, id, at, said, model);
    }
    for part in parts {
        match text(part, "type") {
            Some("text") => {
                let said = text(part, "text").unwrap_or_default();
                builder.say_as(Role::Assistant, id, at, said, model);
            }
            Some("thinking") => builder.think(at, text(part, "thinking").unwrap_or_default()),
            Some("tool_use") => {
                let tool = text(part, "name").unwrap_or_default();
                builder.call(tool, part.get("input").unwrap_or(&Value::Null));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(path: &str, lines: &[&str]) -> Session {
        let text = lines.join("\n");
        let none = |_: &Path| None;
        let file = SessionFile {
            path: Path::new(path),
            bytes: text.as_bytes(),
            modified: None,
            read_neighbour: &none,
        };
        parse(&file).remove(0)
    }

    fn texts(session: &Session) -> Vec<&str> {
        session.turns.iter().map(|turn| turn.text.as_str()).collect()
    }

    #[test]
    fn rewound_turns_are_left_out() {
        let line = |uuid: &str, parent: &str, kind: &str, said: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","message":{{"role":"{kind}","content":"{said}"}}}}"#
            )
        };
        let lines = [
            line("1", "null", "user", "Sow?"),
            line("2", "\"1\"", "assistant", "In March."),
            line("3", "\"2\"", "user", "taken back"),
            line("4", "\"3\"", "assistant", "taken back too"),
            line("5", "\"2\"", "user", "And beans?"),
            line("6", "\"5\"", "assistant", "In May."),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let session = read("/p/s.jsonl", &lines);
        assert_eq!(texts(&session), ["Sow?", "In March.", "And beans?", "In May."]);
        assert_eq!(session.id, "s");
    }

    #[test]
    fn calls_made_together_keep_their_results() {
        let lines = [
            r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"Go"}}"#,
            r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","name":"Bash","input":{"command":"ls a"}}]}}"#,
            r#"{"type":"assistant","uuid":"3","parentUuid":"2","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","name":"Bash","input":{"command":"ls b"}}]}}"#,
            r#"{"type":"user","uuid":"4","parentUuid":"2","message":{"role":"user","content":[{"type":"tool_result","content":"a1"}]}}"#,
            r#"{"type":"user","uuid":"5","parentUuid":"3","message":{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"b1"}]}]}}"#,
            r#"{"type":"assistant","uuid":"6","parentUuid":"5","message":{"id":"n","role":"assistant","content":"Done."}}"#,
        ];
        let session = read("/p/s.jsonl", &lines);
        assert_eq!(session.turns[0].commands, ["ls a", "ls b"]);
        let outputs: Vec<_> = session.asides.iter().map(|aside| aside.text.as_str()).collect();
        assert_eq!((outputs, texts(&session)), (vec!["a1", "b1"], vec!["Go", "Done."]));
    }

    #[test]
    fn texts_of_the_program_are_no_prompts() {
        let line = |said: &str| format!(r#"{{"type":"user","message":{{"content":"{said}"}}}}"#);
        let lines: Vec<String> = MACHINE_TEXTS
            .iter()
            .map(|begins| line(&format!("{begins} x")))
            .chain([
                line("<ide_selection>x</ide_selection>Why?"),
                line("<system-reminder>x</system-reminder>"),
                r#"{"type":"user","isMeta":true,"message":{"content":"meta"}}"#.to_owned(),
                r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"Wait."}}"#
                    .to_owned(),
                r#"{"type":"custom-title","customTitle":"Beds"}"#.to_owned(),
                r#"{"type":"ai-title","aiTitle":"Generated"}"#.to_owned(),
            ])
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let session = read("/p/s.jsonl", &lines);
        assert_eq!(texts(&session), ["Why?", "Wait."]);
        assert_eq!(session.title.as_deref(), Some("Beds"));
    }

    #[test]
    fn subagent_names_its_parent() {
        let line = r#"{"type":"user","isSidechain":true,"agentId":"a1","sessionId":"s","uuid":"1","message":{"content":"Look."}}"#;
        let session = read("/p/s/subagents/agent-a1.jsonl", &[line]);
        assert_eq!((session.id.as_str(), session.parent.as_deref()), ("a1", Some("s")));
    }
}
