//! Cline and Roo Code: a JSON list of messages for each task, and a file about the task.

use serde_json::Value;

use super::format::{AgentFormat, has_all, has_extension};
use crate::{
    Role, Session, SessionError, SessionFile,
    session_builder::SessionBuilder,
    text::{block_content, content_texts, cut_blocks, items, output_text, text, time},
};

pub(super) const CLINE: AgentFormat = AgentFormat {
    name: "cline",
    label: "Cline",
    detect: |path, head| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_new =
            name.ends_with(".messages.json") && has_all(head, &["\"role\"", "\"content\""]);
        (is_task(path, head) || is_new).into()
    },
    parse,
    follow: None,
};

pub(super) const ROO: AgentFormat = AgentFormat {
    name: "roo",
    label: "Roo Code",
    // The list of messages is the same; the folder of the extension tells them apart.
    detect: |path, head| {
        let is_roo = |name: &std::ffi::OsStr| name.to_string_lossy().to_lowercase().contains("roo");
        let is_place = path
            .iter()
            .any(|name| name == "roo" || is_roo(name) && name.to_string_lossy().contains("cline"));
        (is_task(path, head) && is_place).into()
    },
    parse,
    follow: None,
};

fn is_task(path: &std::path::Path, head: &[u8]) -> bool {
    path.ends_with("api_conversation_history.json")
        && has_extension(path, &["json"])
        && has_all(head, &["\"role\"", "\"content\""])
}

fn parse(file: &SessionFile<'_>) -> Result<Vec<Session>, SessionError> {
    let document = file.json()?;
    let messages = match &document {
        Value::Array(messages) => messages.as_slice(),
        other => other.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
    };
    let mut builder = SessionBuilder::default();
    let is_new = file.path.to_string_lossy().ends_with(".messages.json");
    let id = if is_new {
        file.stem().trim_end_matches(".messages").to_owned()
    } else {
        file.folder_name(1).unwrap_or_else(|| file.stem())
    };
    let about = file.neighbour_json("history_item.json").or_else(|| {
        let all = file.neighbour_json("../../state/taskHistory.json")?;
        all.as_array()?.iter().find(|item| text(item, "id") == Some(id.as_str())).cloned()
    });
    let about = about.or_else(|| file.neighbour_json(&format!("{id}.json"))).unwrap_or_default();
    let task_time = time(about.get("ts"));
    let model = ["modelId", "model"].iter().find_map(|key| text(&about, key));
    for message in messages {
        let at = time(message.get("ts").or_else(|| message.get("timestamp"))).or(task_time);
        match text(message, "role") {
            Some("user") => read_prompt(&mut builder, message, at),
            Some("assistant") => {
                let content = message.get("content").unwrap_or(&Value::Null);
                let said = content_texts(content).join("\n");
                let said_by = text(message, "model").or(model);
                for part in items(message, "content") {
                    if let Some(thought) = text(part, "thinking") {
                        builder.think(at, thought);
                    }
                }
                builder.think(at, block_content(&said, "thinking").unwrap_or_default());
                let shown = cut_blocks(&said, "thinking");
                builder.say_as(Role::Assistant, None, at, &shown, said_by);
                read_calls(&mut builder, message, &said);
            }
            _ => {}
        }
    }
    let session = &mut builder.session;
    session.id = id;
    session.title =
        ["task", "title", "prompt"].iter().find_map(|key| text(&about, key)).map(|title| {
            title.lines().find(|line| !line.trim().is_empty()).unwrap_or(title).to_owned()
        });
    let folders = ["cwdOnTaskInitialization", "workspace", "cwd", "workspaceRoot"];
    session.folder = folders.iter().find_map(|key| text(&about, key)).map(str::to_owned);
    Ok(builder.finish().into_iter().collect())
}

fn read_prompt(
    builder: &mut SessionBuilder,
    message: &Value,
    at: Option<vademecum_model::Timestamp>,
) {
    for part in items(message, "content") {
        if text(part, "type") == Some("tool_result") {
            builder.output(at, &part.get("content").map(output_text).unwrap_or_default());
        }
    }
    let mut said = Vec::new();
    for part in content_texts(message.get("content").unwrap_or(&Value::Null)) {
        let part = cut_blocks(part, "environment_details");
        let is_result = part.starts_with('[')
            && part.lines().next().is_some_and(|line| line.contains("] Result:"));
        let answer = ["task", "feedback", "answer", "user_message"]
            .iter()
            .find_map(|tag| block_content(&part, tag));
        match answer {
            Some(answer) => said.push(answer.trim().to_owned()),
            None if is_result => builder.output(at, &part),
            None => said.push(part.trim().to_owned()),
        }
    }
    said.retain(|text| !text.is_empty());
    builder.say(Role::User, None, at, &said.join("\n"));
}

/// Reads the calls of an answer: parts of their own, or blocks in its text.
fn read_calls(builder: &mut SessionBuilder, message: &Value, said: &str) {
    for part in items(message, "content") {
        if text(part, "type") == Some("tool_use") {
            let input = part.get("input").unwrap_or(&Value::Null);
            builder.call(text(part, "name").unwrap_or_default(), input);
        }
    }
    for (tool, field) in [
        ("execute_command", "command"),
        ("read_file", "path"),
        ("write_to_file", "path"),
        ("replace_in_file", "path"),
        ("apply_diff", "path"),
    ] {
        let mut rest = said;
        let (start, end) = (format!("<{tool}>"), format!("</{tool}>"));
        while let Some((_, after)) = rest.split_once(start.as_str()) {
            let (call, after) = after.split_once(end.as_str()).unwrap_or((after, ""));
            if let Some(value) = block_content(call, field) {
                let input = serde_json::json!({ field: value.trim() });
                builder.call(tool, &input);
            }
            rest = after;
        }
    }
}
