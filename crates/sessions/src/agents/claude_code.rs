//! Claude Code: a JSON line for each part of a message, linked to a tree by `parentUuid`.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::format::{AgentFormat, has_all, has_extension};
use crate::{
    Role, Session, SessionFile,
    session_builder::SessionBuilder,
    session_file::{LinePlace, read_lines},
    session_tail::{LineReader, Rewritten, follow_lines, parse_lines},
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
    parse: parse_lines::<ClaudeReader>,
    follow: Some(|file, tail| follow_lines::<ClaudeReader>(FORMAT.name, file, tail)),
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
    end: LinePlace,
}

impl Line {
    fn new(value: Value, end: LinePlace) -> Self {
        // A fork in the background copies lines, and only their identifiers say so.
        let own = |key| text(&value, key).map(str::to_owned);
        Self {
            uuid: own("uuid"),
            parent: own("parentUuid").or_else(|| own("logicalParentUuid")),
            message_id: text_at(&value, &["message", "id"]).map(str::to_owned),
            value,
            end,
        }
    }

    fn is_message(&self) -> bool {
        self.value.get("message").is_some()
    }

    fn is_side(&self) -> bool {
        self.value.get("isSidechain") == Some(&Value::Bool(true))
    }
}

#[derive(Default, Serialize, Deserialize)]
struct ClaudeReader {
    names: Names,
    end: BranchEnd,
    /// Whether a message was read.
    has_messages: bool,
    /// Whether all messages so far are of a side chain.
    is_side_only: bool,
    /// Number of lines after the last message that could not be read.
    unread_at_end: usize,
}

impl LineReader for ClaudeReader {
    fn read(&mut self, bytes: &[u8], builder: &mut SessionBuilder) -> Result<usize, Rewritten> {
        let mut lines = Vec::new();
        let read = read_lines(bytes, |_| false, |value, end| lines.push(Line::new(value, end)));
        let mut messages = lines.iter().filter(|line| line.is_message()).peekable();
        let has_messages = messages.peek().is_some();
        let is_side_only = has_messages && messages.all(Line::is_side);
        if self.has_messages && has_messages && is_side_only != self.is_side_only {
            return Err(Rewritten);
        }
        if has_messages {
            (self.has_messages, self.is_side_only) = (true, is_side_only);
        }
        let counts = |line: &Line| self.is_side_only || !line.is_side();
        let is_leaf = |line: &Line| line.uuid.is_some() && line.is_message() && counts(line);
        // What follows the last message may be on no branch, and is read again.
        let has_content = |line: &Line| line.is_message() || line.value.get("attachment").is_some();
        let is_last = |line: &Line| is_leaf(line) || line.uuid.is_none() && has_content(line);
        let last = lines.iter().rposition(is_last);
        let end = match last.and_then(|last| lines.get(last)) {
            Some(line) => line.end,
            None if self.end.last.is_some() => LinePlace::default(),
            None => read,
        };
        for line in &lines {
            self.names.read(&line.value);
        }
        let kept = last_branch(&lines, &self.end, is_leaf)?;
        for (line, _) in lines.iter().zip(kept).filter(|(_, is_kept)| *is_kept) {
            if counts(line) {
                read_line(&line.value, builder);
                self.end.add(line);
            }
        }
        builder.session.unread += end.unread;
        self.unread_at_end = read.unread - end.unread;
        Ok(end.offset)
    }

    fn finish(&self, file: &SessionFile<'_>, session: &mut Session) {
        session.unread += self.unread_at_end;
        let names = &self.names;
        let stem = file.stem();
        session.title = names.custom_title.clone().or_else(|| names.generated_title.clone());
        if self.is_side_only || stem.starts_with("agent-") {
            let own = stem.strip_prefix("agent-").unwrap_or(&stem).to_owned();
            session.id = names.agent.clone().unwrap_or(own);
            session.parent = names.sessions.first().cloned();
            let about = file.neighbour_json(&format!("{stem}.meta.json"));
            let described = about.as_ref().and_then(|about| text(about, "description"));
            session.title = described.map(str::to_owned).or_else(|| session.title.take());
        } else {
            let first = names.sessions.iter().find(|id| **id == stem).or(names.sessions.first());
            session.id = first.cloned().unwrap_or(stem);
        }
    }
}

/// The lines that the next one may follow without changing the conversation: the last answer, with the
/// results of its calls, or the last prompt.
#[derive(Default, Serialize, Deserialize)]
struct BranchEnd {
    last: Option<String>,
    message_id: Option<String>,
    uuids: Vec<String>,
}

impl BranchEnd {
    /// Adds a line of the conversation.
    fn add(&mut self, line: &Line) {
        let Some(uuid) = line.uuid.clone().filter(|_| line.is_message()) else { return };
        let continues = line.message_id.is_some() && line.message_id == self.message_id;
        let is_own_result = is_result(&line.value) && self.has(line.parent.as_deref());
        if !continues && !is_own_result {
            self.message_id.clone_from(&line.message_id);
            self.uuids.clear();
        }
        self.uuids.push(uuid.clone());
        self.last = Some(uuid);
    }

    fn has(&self, uuid: Option<&str>) -> bool {
        uuid.is_some_and(|uuid| self.uuids.iter().any(|known| known == uuid))
    }

    /// Returns whether a line whose parent was read before only continues the conversation.
    fn is_followed_by(&self, line: &Line) -> bool {
        let is_prompt = text(&line.value, "type") == Some("user") && !is_result(&line.value);
        if is_prompt {
            line.parent.is_some() && line.parent == self.last
        } else {
            self.has(line.parent.as_deref())
        }
    }
}

/// Identifiers and titles in the lines of a file.
#[derive(Default, Serialize, Deserialize)]
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

/// Returns for each line whether it belongs to the conversation: it is on the path to the last
/// message, of which `end` was read before. After a rewind, a file has several branches. Fails if
/// the path leaves what was read before earlier than at its end.
fn last_branch(
    lines: &[Line],
    end: &BranchEnd,
    is_leaf: impl Fn(&Line) -> bool,
) -> Result<Vec<bool>, Rewritten> {
    let places: HashMap<&str, usize> = lines
        .iter()
        .enumerate()
        .filter_map(|(place, line)| Some((line.uuid.as_deref()?, place)))
        .collect();
    let mut on_path = HashSet::new();
    let mut next = lines.iter().rposition(&is_leaf);
    while let Some(place) = next.filter(|place| on_path.insert(*place)) {
        let Some(line) = lines.get(place) else { break };
        let parent = line.parent.as_deref();
        next = match parent.and_then(|parent| places.get(parent)) {
            Some(place) => Some(*place),
            None if end.last.is_some() && !end.is_followed_by(line) => return Err(Rewritten),
            None if end.last.is_some() || parent.is_none() => break,
            // If the parent is not in the file, the line before replaces it.
            None => lines.get(..place).and_then(|before| before.iter().rposition(&is_leaf)),
        };
    }
    let of_path = on_path.iter().filter_map(|place| lines.get(*place)?.message_id.as_deref());
    let answers: HashSet<&str> = of_path.chain(end.message_id.as_deref()).collect();
    let is_kept = |(place, line): (usize, &Line)| {
        let of_answer = line.message_id.as_deref().is_some_and(|id| answers.contains(id));
        // The results of calls made together have one call each as their parent.
        let parent = line.parent.as_deref().and_then(|parent| places.get(parent));
        let of_parent = is_result(&line.value)
            && (end.has(line.parent.as_deref())
                || parent.and_then(|place| lines.get(*place)).is_some_and(|parent| {
                    parent.message_id.as_deref().is_some_and(|id| answers.contains(id))
                }));
        line.uuid.is_none() || on_path.contains(&place) || of_answer || of_parent
    };
    Ok(lines.iter().enumerate().map(is_kept).collect())
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
        (FORMAT.parse)(&file).unwrap().remove(0)
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

    /// Reads a file that grows to these sizes: what each step returns, or `None` if the whole file has
    /// to be read.
    fn follow(text: &str, sizes: &[usize]) -> Vec<Option<Session>> {
        let none = |_: &Path| None;
        let mut tail: Option<crate::SessionTail> = None;
        let mut found = Vec::new();
        for size in sizes {
            let from = tail.as_ref().map_or(0, |tail| usize::try_from(tail.offset).unwrap());
            let bytes = &text.as_bytes()[from..*size];
            let path = Path::new("/p/s.jsonl");
            let file = SessionFile { path, bytes, modified: None, read_neighbour: &none };
            match FORMAT.follow.unwrap()(&file, tail.as_ref()) {
                Ok(mut read) => {
                    tail = Some(read.tail);
                    found.push(read.sessions.pop());
                }
                Err(_) => found.push(None),
            }
        }
        found
    }

    #[test]
    fn growing_file_is_followed_until_it_is_rewound() {
        let line = |uuid: &str, parent: &str, kind: &str, part: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","message":{{"id":"m{kind}","role":"{kind}","content":[{part}]}}}}"#
            ) + "\n"
        };
        let said = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let call = |file: &str| {
            format!(r#"{{"type":"tool_use","name":"Read","input":{{"file_path":"{file}"}}}}"#)
        };
        let result = |text: &str| format!(r#"{{"type":"tool_result","content":"{text}"}}"#);
        let steps = [
            line("1", "0", "user", &said("Sow?")) + &line("2", "1", "assistant", &said("I look.")),
            line("3", "2", "assistant", &call("a.md"))
                + &line("4", "3", "assistant", &call("b.md")),
            line("5", "3", "user", &result("one")) + &line("6", "4", "user", &result("two")),
            line("7", "6", "assistant", &call("a.md")) + "{\"type\":\"system\",\"uuid\":\"x\",",
            "\"parentUuid\":\"7\"}\n".to_owned() + &line("8", "x", "user", &said("And beans?")),
            line("9", "2", "user", &said("rewound")),
        ];
        let text = steps.concat();
        let sizes: Vec<usize> =
            (1..=steps.len()).map(|count| steps[..count].concat().len()).collect();
        let found = follow(&text, &sizes);
        assert!(found[5].is_none(), "a rewind");
        for (at, size) in sizes.iter().enumerate().take(5) {
            let whole = follow(&text, &[*size]).remove(0).unwrap();
            let part = found[at].as_ref().unwrap();
            assert_eq!(part.turns, whole.turns[part.earlier_turns..], "{at}");
            assert_eq!(part.asides, whole.asides[part.earlier_asides..], "{at}");
            assert_eq!(part.earlier_turns + part.turns.len(), whole.turns.len(), "{at}");
            assert_eq!(part.shown_title(), whole.shown_title());
            assert_eq!((&part.id, part.started, part.unread), (&whole.id, whole.started, 0));
        }
        assert_eq!(found[4].as_ref().unwrap().turns.len(), 2);
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
