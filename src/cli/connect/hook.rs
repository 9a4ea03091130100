//! The recall hook in the settings of a client: a command that runs when the user submits a prompt.
//!
//! Claude Code and Codex have the same layout: `hooks.UserPromptSubmit` lists groups, each with a
//! list `hooks` of commands. Our hook is a group of its own, recognised by its command.

use std::path::Path;

use anyhow::{Context, Result};
use jsonc_parser::cst::{CstArray, CstObject, CstRootNode};
use serde_json::{Value, json};

use super::{
    client::{Client, quote_command_line},
    endpoint::{HttpCredential, LaunchCommand, ServerEndpoint},
    file::SettingsFile,
    json::{parse_root, value_to_cst},
    layout::{DocumentError, SettingsSyntax},
};
use crate::cli::output::print_line;

/// Time after which the client ends the hook, in seconds. The hook ends itself after 0.1.
const TIMEOUT_SECONDS: u32 = 5;

/// Event of the hook.
const EVENT: &str = "UserPromptSubmit";

/// The recall hook of a client.
#[derive(Debug)]
pub(super) struct RecallHook {
    file: SettingsFile,
    program: String,
}

/// Text of a hooks file after a change.
#[derive(Debug, PartialEq, Eq)]
enum HookText {
    /// The text before the hook was added.
    Original(String),
    /// The text of now without the hook.
    Text(String),
    /// Nothing is left of a file that was created for the hook.
    NoFile,
}

impl RecallHook {
    /// Opens the file with the hooks of a client. Fails if the client has no hooks.
    pub(super) fn open(client: &Client, start: &LaunchCommand) -> Result<Self> {
        let place = client.hooks.with_context(|| {
            format!("{} has no hooks for prompts; connect it without --recall", client.title)
        })?;
        let path = place().context("this machine has no settings folder")?;
        Ok(Self { file: SettingsFile::read(&path)?, program: start.command.clone() })
    }

    /// Returns the command of the hook.
    pub(super) fn command(start: &LaunchCommand, link: &ServerEndpoint) -> String {
        // The arguments of `mcp` name the library.
        let library = start.arguments.iter().skip(1).map(String::as_str);
        let mut words = vec![start.command.as_str(), "recall"];
        words.extend(library);
        if let ServerEndpoint::Http { url, credential } = link {
            match credential {
                Some(HttpCredential::Variable(name)) => {
                    words.extend(["--http", url.as_str(), "--key-env", name.as_str()]);
                }
                // The server of the settings is found and asked anyway.
                Some(HttpCredential::LocalToken(_)) => {}
                None => words.extend(["--http", url.as_str()]),
            }
        }
        quote_command_line(words)
    }

    /// Installs the hook, or only shows the change. Returns true if there is a change.
    pub(super) fn install(&self, command: &str, dry_run: bool) -> Result<bool> {
        let path = self.file.path().display();
        let new = install(self.file.text(), &self.program, command)
            .with_context(|| format!("{path} was not changed, because it cannot be parsed"))?;
        if new == self.file.text() {
            print_line(&format!("Nothing to change: {path} already has the recall hook."));
            return Ok(false);
        }
        if dry_run {
            print_line(&format!("{path} would get the recall hook\n  {command}"));
        } else {
            let is_first = remove(self.file.text(), &self.program)?.is_none();
            self.file.write(&new, is_first)?;
            print_line(&format!("Added the recall hook to {path}"));
        }
        Ok(true)
    }

    /// Removes the hook, or only shows the change. Does nothing if there is none.
    pub(super) fn remove(&self, dry_run: bool) -> Result<()> {
        let path = self.file.path().display();
        let Some(new) = self
            .text_without_hook()
            .with_context(|| format!("{path} was not changed, because it cannot be parsed"))?
        else {
            return Ok(());
        };
        if dry_run {
            print_line(&format!("{path} would lose the recall hook"));
            return Ok(());
        }
        match new {
            HookText::Original(text) => self.file.restore(&text)?,
            HookText::Text(text) => self.file.write(&text, false)?,
            HookText::NoFile => self.file.remove()?,
        }
        print_line(&format!("Removed the recall hook from {path}"));
        Ok(())
    }

    /// Returns the file without the hook; `None` if it has none. If nothing else was changed, it is
    /// the file before the hook was added, byte for byte.
    fn text_without_hook(&self) -> Result<Option<HookText>> {
        let text = self.file.text();
        let Some((command, without)) = remove(text, &self.program)? else { return Ok(None) };
        let installed = |before: &str| install(before, &self.program, &command);
        Ok(Some(match self.file.read_backup()? {
            Some(before) if installed(&before).is_ok_and(|it| it == text) && before != text => {
                HookText::Original(before)
            }
            None if installed("")? == text => HookText::NoFile,
            Some(_) | None => HookText::Text(without),
        }))
    }
}

/// Returns the text with the hook. One of this program gets the command.
fn install(text: &str, program: &str, command: &str) -> Result<String, DocumentError> {
    let root = parse_root(text, SettingsSyntax::Json)?;
    let event = root
        .object_value_or_create()
        .and_then(|settings| settings.object_value_or_create("hooks"))
        .and_then(|hooks| hooks.array_value_or_create(EVENT))
        .ok_or_else(wrong_structure)?;
    if let Some((_, hook)) = find(&event, program) {
        let is_same = text_of(&hook, "command").is_some_and(|present| present == command);
        if let Some(property) = hook.get("command").filter(|_| !is_same) {
            property.set_value(value_to_cst(&command.into()));
        }
        return Ok(root.to_string());
    }
    let hook = json!({ "type": "command", "command": command, "timeout": TIMEOUT_SECONDS });
    event.append(value_to_cst(&json!({ "hooks": [hook] })));
    Ok(root.to_string())
}

/// Returns the command of the hook and the text without it; `None` if there is none. Lists and objects
/// that become empty are removed.
fn remove(text: &str, program: &str) -> Result<Option<(String, String)>, DocumentError> {
    let root = parse_root(text, SettingsSyntax::Json)?;
    let Some((hooks, event)) = event_of(&root)? else { return Ok(None) };
    let Some((group, hook)) = find(&event, program) else { return Ok(None) };
    let command = text_of(&hook, "command").unwrap_or_default();
    hook.remove();
    if group.array_value("hooks").is_some_and(|list| list.elements().is_empty()) {
        group.remove();
    }
    if event.elements().is_empty()
        && let Some(property) = hooks.get(EVENT)
    {
        property.remove();
    }
    let settings = root.object_value();
    if hooks.properties().is_empty()
        && let Some(property) = settings.and_then(|settings| settings.get("hooks"))
    {
        property.remove();
    }
    Ok(Some((command, root.to_string())))
}

/// Returns the object of all hooks and the list of the event, if there are any.
fn event_of(root: &CstRootNode) -> Result<Option<(CstObject, CstArray)>, DocumentError> {
    let Some(settings) = root.object_value() else {
        return if root.value().is_some() { Err(wrong_structure()) } else { Ok(None) };
    };
    let Some(hooks) = settings.object_value("hooks") else { return Ok(None) };
    Ok(hooks.array_value(EVENT).map(|event| (hooks, event)))
}

/// Returns the hook of this program and its group.
fn find(event: &CstArray, program: &str) -> Option<(CstObject, CstObject)> {
    let groups = event.elements().into_iter().filter_map(|group| group.as_object());
    groups.into_iter().find_map(|group| {
        let hooks = group.array_value("hooks")?.elements();
        let mut hooks = hooks.into_iter().filter_map(|hook| hook.as_object());
        let is_ours = |hook: &CstObject| {
            text_of(hook, "command").is_some_and(|command| is_recall_of(&command, program))
        };
        Some((group, hooks.find(is_ours)?))
    })
}

fn text_of(object: &CstObject, name: &str) -> Option<String> {
    match object.get(name)?.value()?.to_serde_value()? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Returns true if a command line starts the recall of this program, installed as `program` or
/// elsewhere.
fn is_recall_of(command: &str, program: &str) -> bool {
    let quoted = quote_command_line([program]);
    let is_vademecum = |word: &str| {
        let word = word.trim_matches('\'');
        Path::new(word).file_stem().is_some_and(|stem| stem == "vademecum")
    };
    let (first, rest) = match command.strip_prefix(&quoted) {
        Some(rest) => (program, rest),
        None => command.split_once(" recall").map_or((command, ""), |(first, _)| {
            (first, command.get(first.len()..).unwrap_or_default())
        }),
    };
    let is_recall = rest == " recall" || rest.starts_with(" recall ");
    is_recall && (first == program || is_vademecum(first))
}

fn wrong_structure() -> DocumentError {
    DocumentError::WrongStructure(format!("`hooks.{EVENT}` is not a list in an object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/my tools/vademecum";
    const COMMAND: &str = "'/opt/my tools/vademecum' recall --data /d";

    #[test]
    fn hook_is_added_once_and_removed_alone() {
        let other = r#"{"type": "command", "command": "/usr/bin/log recall"}"#;
        for before in [
            "{}".to_owned(),
            "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n".to_owned(),
            format!("{{\"hooks\": {{\"{EVENT}\": [{{\"hooks\": [{other}]}}]}}, \"a\": 1}}"),
        ] {
            let once = install(&before, PROGRAM, COMMAND).unwrap();
            assert_eq!(install(&once, PROGRAM, COMMAND).unwrap(), once);
            let moved = install(&once, PROGRAM, "vademecum recall").unwrap();
            assert_eq!(moved.matches("vademecum").count(), 1, "{moved}");
            let (command, after) = remove(&once, PROGRAM).unwrap().unwrap();
            assert_eq!(command, COMMAND);
            let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(value(&after), value(&before), "{after}");
            assert_eq!(remove(&before, PROGRAM).unwrap(), None, "{before}");
        }
        let new = install("", PROGRAM, COMMAND).unwrap();
        let value: Value = serde_json::from_str(&new).unwrap();
        assert_eq!(value["hooks"][EVENT][0]["hooks"][0]["command"], COMMAND);
    }

    #[test]
    fn other_commands_are_not_ours() {
        for command in ["vademecum recall", "/usr/bin/vademecum recall --user x", COMMAND] {
            assert!(is_recall_of(command, PROGRAM), "{command}");
        }
        for command in ["vademecum recaller", "recall", "vademecum mcp", "log vademecum-recall", ""]
        {
            assert!(!is_recall_of(command, PROGRAM), "{command}");
        }
        for broken in ["[]", "7", "{\"hooks\": []}", "{\"hooks\": {\"UserPromptSubmit\": {}}}", "{"]
        {
            install(broken, PROGRAM, COMMAND).unwrap_err();
        }
    }
}
