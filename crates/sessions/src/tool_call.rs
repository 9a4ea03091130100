//! Commands and files in the calls of tools. Every program names its tools and their inputs
//! differently, and new tools come with each version, so that fields decide.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum length of a command that is kept, in characters.
const MAX_COMMAND_CHARS: usize = 4_000;
/// Maximum length of a path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;
/// Parts of the names of tools that run commands.
const SHELL_TOOLS: [&str; 7] =
    ["bash", "shell", "exec", "terminal", "run_command", "execute_command", "powershell"];
/// Parts of the names of tools whose paths are folders or patterns.
const SEARCH_TOOLS: [&str; 9] =
    ["grep", "glob", "search", "list", "find", "fetch", "ls", "tree", "browser"];
/// Fields that hold a command.
const COMMAND_FIELDS: [&str; 6] =
    ["command", "cmd", "script", "commandLine", "CommandLine", "input"];
/// Fields that hold the path of a file.
const PATH_FIELDS: [&str; 12] = [
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "absolutePath",
    "filename",
    "file",
    "notebook_path",
    "target_file",
    "targetFile",
    "TargetFile",
    "AbsolutePath",
];
/// Beginnings of the lines of a patch that name a file.
const PATCH_LINES: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// What a tool call did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolActions {
    pub(crate) commands: Vec<String>,
    pub(crate) files: Vec<String>,
}

/// Reads the commands and files of a tool call. Its input is an object, JSON text, or plain text.
pub(crate) fn read_tool_call(tool: &str, input: &Value) -> ToolActions {
    let parsed = input.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let input = parsed.as_ref().filter(|value| value.is_object()).unwrap_or(input);
    let name = tool.to_lowercase();
    let mut actions = ToolActions::default();
    if SHELL_TOOLS.iter().any(|part| name.contains(part)) {
        let command = match input {
            Value::String(_) | Value::Array(_) => command_text(input),
            _ => COMMAND_FIELDS.iter().find_map(|field| command_text(input.get(*field)?)),
        };
        actions.commands.extend(command);
    } else if !is_search_tool(&name) {
        add_paths(input, &mut actions.files);
    }
    let texts = match input {
        Value::Object(fields) => fields.values().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    };
    for text in texts.iter().filter(|text| text.contains("*** ")) {
        let named = text.lines().filter_map(|line| {
            PATCH_LINES.iter().find_map(|begins| line.trim_start().strip_prefix(begins))
        });
        named.for_each(|path| add_path(path.trim(), &mut actions.files));
    }
    actions
}

fn is_search_tool(name: &str) -> bool {
    let parts = || name.split(|next: char| !next.is_alphanumeric());
    SEARCH_TOOLS.iter().any(|tool| {
        // `ls` and `find` are whole words: `tools`, `findings`.
        if tool.len() <= 4 { parts().any(|part| part == *tool) } else { name.contains(tool) }
    })
}

/// Returns a command: text, or the arguments of a process. `bash -lc X` is X.
fn command_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, option, command]
                    if option.starts_with('-')
                        && option.ends_with('c')
                        && ["sh", "bash", "zsh"].iter().any(|name| shell.ends_with(name)) =>
                {
                    (*command).to_owned()
                }
                words => words.join(" "),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let text: String = text.chars().take(MAX_COMMAND_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

fn add_paths(input: &Value, files: &mut Vec<String>) {
    for path in PATH_FIELDS.iter().filter_map(|field| input.get(*field)?.as_str()) {
        add_path(path, files);
    }
    for field in ["files", "paths", "file_paths"] {
        for item in crate::text::items(input, field) {
            match item {
                Value::String(path) => add_path(path, files),
                other => add_paths_of_object(other, files),
            }
        }
    }
}

fn add_paths_of_object(item: &Value, files: &mut Vec<String>) {
    for path in PATH_FIELDS.iter().filter_map(|field| item.get(*field)?.as_str()) {
        add_path(path, files);
    }
}

fn add_path(path: &str, files: &mut Vec<String>) {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let fits = !path.is_empty() && path.len() <= MAX_PATH_BYTES && !path.contains('\n');
    if fits && !files.iter().any(|known| known == path) {
        files.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(tool: &str, input: &Value) -> (Vec<String>, Vec<String>) {
        let ToolActions { commands, files } = read_tool_call(tool, input);
        (commands, files)
    }

    #[test]
    fn commands_are_read_in_all_forms() {
        for (tool, input) in [
            ("Bash", json!({"command": "cargo test"})),
            ("exec_command", json!("{\"cmd\": \"cargo test\"}")),
            ("shell", json!({"command": ["bash", "-lc", "cargo test"]})),
            ("run_shell_command", json!({"command": ["cargo", "test"]})),
            ("developer__shell", json!({"command": "cargo test"})),
        ] {
            assert_eq!(read(tool, &input), (vec!["cargo test".to_owned()], vec![]), "{tool}");
        }
    }

    #[test]
    fn files_are_read_and_searched_folders_are_not() {
        let one = |path: &str| (vec![], vec![path.to_owned()]);
        assert_eq!(read("Read", &json!({"file_path": "/a.rs"})), one("/a.rs"));
        assert_eq!(read("write_file", &json!({"path": "file:///a.rs"})), one("/a.rs"));
        for tool in ["Grep", "list_directory", "ls", "Glob", "codebase_search"] {
            assert_eq!(read(tool, &json!({"path": "/src"})), (vec![], vec![]), "{tool}");
        }
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+x\n*** Update File: b.rs\n*** End Patch";
        let both = vec!["a.rs".to_owned(), "b.rs".to_owned()];
        assert_eq!(read("apply_patch", &json!(patch)), (vec![], both.clone()));
        assert_eq!(read("apply_patch", &json!({"patch": patch})), (vec![], both));
    }
}
