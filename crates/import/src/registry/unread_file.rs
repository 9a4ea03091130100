//! Explanation of a file that no importer reads.

use std::path::Path;

use vademecum_model::SourceName;

use super::importers::{detect_importer, format_list};
use crate::{
    FileProbe, ImportError, Importer, ParsedFile, Problem, TimeLimit,
    detection::json_shape::JsonShape,
    detection::unsupported::{describe_one, unsupported_format},
    exported,
    text::json,
};

/// Returns the format of a file that no importer of `source` reads: that of another source, or an
/// unsupported one.
pub(super) fn unread_format(source: Option<SourceName>, probe: &FileProbe) -> String {
    let other = source.and_then(|_| detect_importer(None, probe));
    other.map_or_else(|| unsupported_format(probe), |other| other.format_name().to_owned())
}

/// Returns the error of a named file that no importer reads.
pub(super) fn unread_file_error(
    source: Option<SourceName>,
    probe: FileProbe,
    time_limit: TimeLimit,
) -> ImportError {
    let path = probe.path().to_owned();
    let format = unread_format(source, &probe);
    if let Some(source) = source {
        let other = detect_importer(None, &probe).map(Importer::source);
        return ImportError::UnknownFormat {
            advice: other.map_or_else(String::new, |other| {
                let command = import_command("", &path);
                format!("; to import it as {other}, run {command}")
            }),
            path,
            source_name: source,
            formats: format_list(source),
        };
    }
    if format == JSON_FORMAT {
        return ImportError::UnrecognisedJson {
            path,
            reason: explain_json(None, probe, time_limit),
        };
    }
    ImportError::Unsupported { path, description: describe_one(&format) }
}

/// Format of JSON files that no importer reads. The name of such a file does not show whether it is
/// supported, so that the reason is given for each.
const JSON_FORMAT: &str = "JSON files";

/// Fields of conversations and of their messages.
const CONVERSATION_FIELDS: [&str; 7] =
    ["messages", "role", "conversationId", "sender", "chat", "history", "turns"];

/// Returns the result for a file in a folder that no importer reads. It is empty except for JSON.
pub(super) fn explain_unread_file(
    source: Option<SourceName>,
    probe: FileProbe,
    time_limit: TimeLimit,
) -> ParsedFile {
    let is_known = unsupported_format(&probe) != JSON_FORMAT;
    if !probe.has_extension(&["json", "jsonl", "ndjson"])
        || exported::is_exported_file(&probe)
        || source.is_none() && is_known && probe.stamp().size > 0
    {
        return ParsedFile::default();
    }
    let reason = explain_json(source, probe, time_limit);
    let problems = vec![Problem { place: String::new(), reason }];
    ParsedFile { problems, ..ParsedFile::default() }
}

/// Returns the reason why a JSON file is not read, with the commands that would read it.
fn explain_json(source: Option<SourceName>, probe: FileProbe, time_limit: TimeLimit) -> String {
    let shape = JsonShape::probe(&probe);
    let fields = shape.describe();
    let is_conversation = shape.has_any_field(&CONVERSATION_FIELDS);
    let forced: Vec<_> = SourceName::ALL
        .into_iter()
        .filter_map(|source| Some((source, detect_importer(Some(source), &probe)?)))
        .collect();
    let file = match probe.read_file(time_limit) {
        Ok(file) => file,
        Err(error) => return format!("not valid JSON: {error}"),
    };
    let is_lines = file.has_extension(&["jsonl", "ndjson"]);
    let flaw = match file.text() {
        Ok(text) if is_lines => {
            let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            lines.find_map(|(at, line)| {
                Some(format!("in line {}: {}", at + 1, json::find_syntax_error(line)?))
            })
        }
        Ok(text) => json::find_syntax_error(&text),
        Err(error) => Some(error.to_string()),
    };
    if let Some(flaw) = flaw {
        return format!("not valid JSON: {flaw}");
    }
    if let Some(source) = source {
        return format!("this JSON format cannot be imported into {source}");
    }
    // Only what works is advised.
    let reads = |importer: &dyn Importer| {
        // Any map of texts may be prompts, but a conversation is none.
        (importer.source() != SourceName::Prompts || !is_conversation)
            && importer.parse(&file).is_ok_and(|parsed| !parsed.drafts.is_empty())
    };
    let commands = forced.into_iter().filter(|(_, importer)| reads(*importer));
    let commands: Vec<_> =
        commands.map(|(source, _)| import_command(source.as_str(), &file.path)).collect();
    let advice = match commands.as_slice() {
        [] => String::new(),
        commands => format!("; to force a type, run {}", commands.join(" or ")),
    };
    format!("unrecognised JSON format{fields}{advice}")
}

/// Returns the command that imports a file, as one that can be pasted into a shell.
fn import_command(kind: &str, path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |next: char| next.is_alphanumeric() || "/._-+:@%,\\".contains(next);
    let path = if path.chars().all(is_plain) {
        path
    } else if cfg!(windows) {
        format!("\"{path}\"")
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    };
    let space = if kind.is_empty() { "" } else { " " };
    format!("`vademecum import {kind}{space}{path}`")
}
