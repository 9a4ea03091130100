//! Generated chapters of the manual: commands, tools and settings.
//!
//! `UPDATE_MANUAL=1 cargo test --test it manual` rewrites them. Each is read from what
//! the program itself reads: the definition of the command line, `schemas/tools`, and
//! `config.example.toml`.

use std::{fmt::Write as _, fs};

use clap::{Arg, Command};
use serde_json::Value;
use vademecum::cli::command_line;

use crate::support::workspace_files::{files, read, root};

/// Options of every command, listed once.
const COMMON_OPTIONS: [&str; 6] = ["data", "user", "config", "log", "help", "version"];

/// Compares a chapter with its file, or writes it.
fn check_chapter(name: &str, text: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("UPDATE_MANUAL").is_some_and(|value| value == "1") {
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "docs/{name} differs; if intended, run with UPDATE_MANUAL=1");
}

/// Returns text for the cell of a table: on one line, without markup outside of back-ticks.
fn cell(text: &str) -> String {
    let mut done = String::new();
    for (at, part) in text.split('`').enumerate() {
        let words = part.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        if at % 2 == 1 {
            write!(done, "`{words}`").unwrap();
        } else {
            let (before, after) = spaces(part);
            let after = if words.is_empty() { "" } else { after };
            let words = words.replace('<', "&lt;").replace('*', "\\*").replace('[', "\\[");
            write!(done, "{before}{words}{after}").unwrap();
        }
    }
    done.trim().to_owned()
}

/// Returns the space before and after a text, as one character or none.
fn spaces(text: &str) -> (&'static str, &'static str) {
    let space = |found: bool| if found { " " } else { "" };
    (space(text.starts_with(char::is_whitespace)), space(text.ends_with(char::is_whitespace)))
}

/// Returns the options and arguments of a command as rows of a table.
fn argument_rows<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut rows = String::new();
    for argument in arguments.filter(|it| !it.is_hide_set()) {
        let mut names: Vec<String> = Vec::new();
        names.extend(argument.get_short().map(|short| format!("-{short}")));
        names.extend(argument.get_long().map(|long| format!("--{long}")));
        let mut name = names.join(", ");
        if argument.get_action().takes_values() {
            let values = argument.get_value_names().unwrap_or_default().join("> <");
            write!(name, "{}<{values}>", if name.is_empty() { "" } else { " " }).unwrap();
        }
        let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let possible: Vec<_> =
            argument.get_possible_values().iter().map(|it| it.get_name().to_owned()).collect();
        if argument.get_action().takes_values() && !possible.is_empty() {
            write!(help, " (`{}`)", possible.join("`, `")).unwrap();
        }
        let defaults = argument.get_default_values();
        if argument.get_action().takes_values() && !defaults.is_empty() {
            write!(help, " Default: `{}`.", defaults.join(" ".as_ref()).to_string_lossy()).unwrap();
        }
        writeln!(rows, "| `{}` | {} |", name.replace('|', "\\|"), cell(&help)).unwrap();
    }
    rows
}

/// Writes the section of a command and of those below it.
fn write_command(text: &mut String, command: &mut Command, level: usize) {
    let name = command.get_bin_name().unwrap_or_default().to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(text, "\n{} {name}\n\n{}.", "#".repeat(level), wrap(&cell(&about))).unwrap();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let usage: Vec<_> = usage.lines().map(str::trim).collect();
    writeln!(text, "\n```text\n{}\n```", usage.join("\n")).unwrap();
    let is_own = |it: &&Arg| !COMMON_OPTIONS.contains(&it.get_id().as_str());
    let rows = argument_rows(command.get_arguments().filter(is_own));
    if !rows.is_empty() {
        write!(text, "\n| argument | effect |\n|---|---|\n{rows}").unwrap();
    }
    if let Some(after) = command.get_after_help() {
        let after = after.to_string();
        let wrapped = |line: &str| if line.len() > 120 { wrap(line) } else { line.to_owned() };
        let lines: Vec<_> = after.trim().lines().map(wrapped).collect();
        writeln!(text, "\n```text\n{}\n```", lines.join("\n")).unwrap();
    }
    for below in command.get_subcommands_mut() {
        if !below.is_hide_set() && below.get_name() != "help" {
            write_command(text, below, level + 1);
        }
    }
}

#[test]
fn chapter_of_commands_matches_command_line() {
    let mut program = command_line();
    program.build();
    let mut text = String::from(
        "# Commands\n\n\
         This chapter is generated from the definition of the command line. `vademecum help COMMAND` prints the same.\n\n\
         Every command accepts these options:\n\n| option | effect |\n|---|---|\n",
    );
    let common =
        program.get_arguments().filter(|it| COMMON_OPTIONS.contains(&it.get_id().as_str()));
    text.push_str(&argument_rows(common));
    for below in program.get_subcommands_mut() {
        if !below.is_hide_set() && below.get_name() != "help" {
            write_command(&mut text, below, 2);
        }
    }
    assert!(text.contains("## vademecum import\n") && text.contains("### vademecum user add\n"));
    check_chapter("commands.md", &text);
}

/// Returns the type of a property in words.
fn type_name(schema: &Value) -> String {
    let all = |list: &Value| -> String {
        let types = list.as_array().into_iter().flatten();
        types.map(type_name).filter(|it| it != "null").collect::<Vec<_>>().join(" or ")
    };
    if schema["enum"].is_array() {
        let values = schema["enum"].as_array().into_iter().flatten().filter(|it| !it.is_null());
        return values.map(|it| format!("`{}`", text_of(it))).collect::<Vec<_>>().join(", ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" && schema["items"].is_object() => {
            format!("list of {}", type_name(&schema["items"]))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|it| *it != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ if schema["anyOf"].is_array() => all(&schema["anyOf"]),
        _ if schema["oneOf"].is_array() => all(&schema["oneOf"]),
        _ => "any".to_owned(),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Writes the section of a tool.
fn write_tool(text: &mut String, tool: &Value) {
    let name = text_of(&tool["name"]);
    writeln!(text, "\n## {name}\n\n{}", wrap(&cell(&text_of(&tool["description"])))).unwrap();
    let effect =
        match (&tool["annotations"]["readOnlyHint"], &tool["annotations"]["destructiveHint"]) {
            (Value::Bool(true), _) => "Reads only.",
            (_, Value::Bool(false)) => "Writes, and deletes nothing.",
            _ => "Writes.",
        };
    writeln!(text, "\n{effect}").unwrap();
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    if !properties.is_empty() {
        text.push_str("\n| argument | type | meaning |\n|---|---|---|\n");
    }
    for (name, property) in properties {
        let mut meaning = cell(property["description"].as_str().unwrap_or_default());
        if required.contains(&name.as_str()) {
            meaning = format!("Required. {meaning}");
        }
        if !property["default"].is_null() {
            write!(meaning, " Default: `{}`.", text_of(&property["default"])).unwrap();
        }
        let kind = type_name(property).replace('|', "\\|");
        writeln!(text, "| `{name}` | {kind} | {} |", meaning.trim()).unwrap();
    }
    let output = tool["outputSchema"]["properties"].as_object().into_iter().flatten();
    let fields: Vec<_> = output.map(|(name, _)| format!("`{name}`")).collect();
    if !fields.is_empty() {
        writeln!(text, "\n{}", wrap(&format!("Returns {}.", fields.join(", ")))).unwrap();
    }
}

/// Breaks lines at 120 characters.
fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().unwrap();
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > 118 {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.join("\n")
}

#[test]
fn chapter_of_tools_matches_schemas() {
    let mut text = String::from(
        "# Tools\n\n\
         This chapter is generated from the files in `schemas/tools`, which have the complete schemas. Clients that refuse\n\
         dots in names get `knowledge_search` for `knowledge.search`. Which tools a client sees depends on `[tools]`, on its\n\
         key, and on what the library has.\n",
    );
    for (_, schema) in files("schemas/tools", "json") {
        write_tool(&mut text, &serde_json::from_str(&schema).unwrap());
    }
    assert!(text.contains("## knowledge.search\n"));
    check_chapter("tools.md", &text);
}

/// Returns the name of the section that a line of the example opens, without brackets.
fn section_name(line: &str) -> Option<&str> {
    let line = line.trim_start_matches("# ");
    line.strip_prefix('[')?.strip_suffix(']')
}

/// Returns name and value of the setting on a line of the example, and whether it is in force.
fn setting(line: &str) -> Option<(&str, &str, bool)> {
    let plain = line.trim_start_matches("# ");
    let (name, value) = plain.split_once(" = ")?;
    let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "._".contains(it);
    name.chars().all(is_name).then_some((name, value, plain == line))
}

#[test]
fn chapter_of_settings_matches_example() {
    let example = read("config.example.toml");
    let mut text = "# Settings\n\n".to_owned();
    text.push_str(&wrap(
        "This chapter is generated from [config.example.toml](../config.example.toml), which is generated from the \
         settings themselves. A value in parentheses is an example: that setting has no default, or its section does \
         not exist by default.",
    ));
    text.push('\n');
    let (mut comments, mut in_table, mut is_first) = (Vec::new(), false, true);
    for line in example.lines() {
        if line.is_empty() || line == "#" {
            if std::mem::take(&mut is_first) {
                writeln!(text, "\n{}", wrap(&cell(&comments.join(" ")))).unwrap();
            }
            comments.clear();
            continue;
        }
        if let Some(name) = section_name(line) {
            let name = name.trim_matches(['[', ']']);
            writeln!(text, "\n## \\[{name}\\]").unwrap();
            if !comments.is_empty() {
                writeln!(text, "\n{}", wrap(&cell(&comments.join(" ")))).unwrap();
            }
            comments.clear();
            in_table = false;
        } else if let Some((name, value, is_active)) = setting(line) {
            if !in_table {
                text.push_str("\n| setting | default | meaning |\n|---|---|---|\n");
                in_table = true;
            }
            let value = format!("`{}`", value.replace('|', "\\|"));
            let value = if is_active { value } else { format!("({value})") };
            writeln!(text, "| `{name}` | {value} | {} |", cell(&comments.join(" "))).unwrap();
            comments.clear();
        } else {
            comments.push(line.trim_start_matches('#').trim());
        }
    }
    assert!(text.contains("| `listen` | `\"127.0.0.1:7744\"` |"));
    check_chapter("settings.md", &text);
}
