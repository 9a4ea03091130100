//! Conversations exported by chat services.
//!
//! Every service names its file `conversations.json`; the fields of a conversation show which
//! service wrote it. Conversations are parsed one by one, so a broken one does not affect the
//! others.

use std::sync::Arc;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use vademecum_formats::{ALL_FORMATS, FormatInput, Problem};
use vademecum_model::SourceName;

use super::{chatgpt, claude, conversation::Conversation};
use crate::{
    ArchiveError, Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    files::archive::Archive, text::json::split_entries,
};

/// Importer of ChatGPT and Claude exports.
#[derive(Debug)]
pub(crate) struct ChatExportImporter;

impl Importer for ChatExportImporter {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format_name(&self) -> &'static str {
        "conversations exported by ChatGPT or Claude (.json, .zip)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let is_json = probe.has_extension(&["json"]);
        if probe.entries().iter().any(|name| is_export_name(name)) {
            return Confidence::ByContent;
        }
        let says_so = ["\"mapping\"", "\"chat_messages\""]
            .iter()
            .any(|field| probe.head_text().contains(field));
        Confidence::ByContent.when(is_json && says_so).max(Confidence::Possible.when(is_json))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let mut reading = ParsedFile::default();
        for part in export_files(file)? {
            let part = part.as_ref().unwrap_or(file);
            let text = part.text()?;
            let conversations = split_conversations(part, &text)?;
            let services: Vec<_> =
                conversations.iter().map(|json| ChatService::detect(json)).collect();
            if !services.is_empty() && services.iter().all(Option::is_none) {
                return Err(ImportError::NotAChatExport { path: file.path.clone() });
            }
            for (number, (json, service)) in (1..).zip(conversations.into_iter().zip(services)) {
                let read = service
                    .map_or_else(unknown_service, |service| service.parse_conversation(json));
                reading.add_conversation(part, number, conversation_label(number, json), read);
            }
        }
        add_projects(file, &mut reading)?;
        Ok(reading)
    }
}

/// Returns `true` if a packed file contains conversations. Exports of large accounts have several
/// numbered files.
fn is_export_name(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let middle = name.strip_prefix("conversations").and_then(|name| name.strip_suffix(".json"));
    middle.is_some_and(|middle| middle.chars().all(|next| next == '-' || next.is_ascii_digit()))
}

/// Adds the projects and memories that Claude puts beside the conversations in an archive.
fn add_projects(file: &SourceFile, reading: &mut ParsedFile) -> Result<(), ImportError> {
    let format = ALL_FORMATS.iter().find(|format| format.id() == "claude_projects");
    let Some(format) = format.filter(|_| file.bytes.starts_with(b"PK\x03\x04")) else {
        return Ok(());
    };
    let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
    let mut archive = Archive::open(&file.bytes).map_err(refused)?;
    for name in archive.file_names().into_iter().filter(|name| is_project_name(name)) {
        let bytes = match archive.unpack_file(&name) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            // Each of the next ones would be unpacked up to the limit.
            Err(error @ ArchiveError::TooLarge) => return Err(refused(error)),
            Err(error) => {
                reading.problems.push(Problem { place: name, reason: error.to_string() });
                continue;
            }
        };
        let input =
            FormatInput { path: &file.path, bytes: &bytes, modified: file.modified, log: None };
        match format.parse(&input) {
            Ok(parsed) => {
                reading.drafts.extend(parsed.drafts);
                reading.problems.extend(parsed.problems);
            }
            // An account without memories has an empty file.
            Err(_) if bytes.trim_ascii().len() <= 2 => {}
            Err(error) => reading.problems.push(Problem { place: name, reason: error.to_string() }),
        }
    }
    Ok(())
}

/// Returns `true` for `projects.json`, `memories.json`, and files of the folders of these names.
fn is_project_name(name: &str) -> bool {
    let mut parts = name.rsplit('/');
    let (last, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let stem = last.strip_suffix(".json");
    stem.is_some_and(|stem| ["projects", "memories"].iter().any(|it| stem == *it || folder == *it))
}

/// Returns the conversation files of an archive; for a file that is not an archive, a single `None`
/// that stands for the file itself. Fails if the archive is damaged or contains no conversations.
fn export_files(file: &SourceFile) -> Result<Vec<Option<SourceFile>>, ImportError> {
    if !file.bytes.starts_with(b"PK\x03\x04") {
        return Ok(vec![None]);
    }
    let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
    let mut archive = Archive::open(&file.bytes).map_err(refused)?;
    let mut names: Vec<_> =
        archive.file_names().into_iter().filter(|name| is_export_name(name)).collect();
    names.sort_unstable();
    let mut parts = Vec::new();
    for name in names {
        let bytes = archive.unpack_file(&name).map_err(refused)?;
        parts.extend(bytes.map(|bytes| {
            let (path, root) = (file.path.clone(), file.root.clone());
            Some(SourceFile { path, root, bytes, neighbours: Arc::default(), ..*file })
        }));
    }
    if parts.is_empty() {
        return Err(ImportError::NotAChatExport { path: file.path.clone() });
    }
    Ok(parts)
}

/// Splits a file into its conversations: a list, or a single one.
fn split_conversations<'a>(
    file: &SourceFile,
    text: &'a str,
) -> Result<Vec<&'a RawValue>, ImportError> {
    split_entries(text).map_err(|cause| ImportError::Json { path: file.path.clone(), cause })
}

#[derive(Clone, Copy, Debug)]
enum ChatService {
    ChatGpt,
    Claude,
}

impl ChatService {
    /// Detects the service by the fields of a conversation.
    fn detect(json: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Form {
            mapping: Option<IgnoredAny>,
            chat_messages: Option<IgnoredAny>,
        }
        let form: Form = serde_json::from_str(json.get()).ok()?;
        match (form.mapping, form.chat_messages) {
            (Some(_), _) => Some(Self::ChatGpt),
            (None, Some(_)) => Some(Self::Claude),
            (None, None) => None,
        }
    }

    fn parse_conversation(self, json: &RawValue) -> Result<Conversation, String> {
        match self {
            Self::ChatGpt => chatgpt::parse_conversation(json.get()),
            Self::Claude => claude::parse_conversation(json.get()),
        }
    }
}

fn unknown_service() -> Result<Conversation, String> {
    Err("it is a conversation of neither ChatGPT nor Claude".to_owned())
}

/// Returns the label of a conversation for problems: its title or identifier, or its number.
fn conversation_label(number: usize, json: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Names {
        title: Option<String>,
        name: Option<String>,
        id: Option<String>,
        uuid: Option<String>,
    }
    let names: Option<Names> = serde_json::from_str(json.get()).ok();
    names
        .into_iter()
        .flat_map(|names| [names.title, names.name, names.id, names.uuid])
        .flatten()
        .find(|name| !name.trim().is_empty())
        .map_or_else(|| format!("conversation {number}"), |name| format!("conversation `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::file_probe::tests::{probe_file, zip_archive};

    const CLAUDE: &str = r#"{"uuid": "c1", "name": "Rye", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "How?"}]}"#;
    const CHATGPT: &str = r#"{"id": "g1", "title": "Oat", "current_node": "n1", "mapping": {"n1": {
        "message": {"id": "m1", "author": {"role": "user"}, "content": {"parts": ["Why?"]}}}}}"#;

    fn parse_export(text: &str) -> Result<ParsedFile, ImportError> {
        ChatExportImporter.parse(&SourceFile::in_memory("/conversations.json", text))
    }

    fn origins(reading: &ParsedFile) -> Vec<&str> {
        reading.drafts.iter().map(|draft| draft.origin.as_str()).collect()
    }

    #[test]
    fn service_is_detected_by_fields() {
        assert_eq!(origins(&parse_export(CLAUDE).unwrap()), ["claude:c1"]);
        assert_eq!(origins(&parse_export(CHATGPT).unwrap()), ["chatgpt:g1"]);
        let both = format!("\u{feff} [{CLAUDE}, {CHATGPT}]");
        assert_eq!(origins(&parse_export(&both).unwrap()), ["claude:c1", "chatgpt:g1"]);
        assert!(parse_export("[]").unwrap().drafts.is_empty());
    }

    #[test]
    fn export_is_read_from_archive() {
        let zip = zip_archive(&[("user.json", b"{}"), ("conversations.json", CLAUDE.as_bytes())]);
        assert_eq!(
            ChatExportImporter.detect(&probe_file("export.zip", &zip)),
            Confidence::ByContent
        );
        let read = |bytes| ChatExportImporter.parse(&SourceFile::in_memory("/export.zip", bytes));
        assert_eq!(origins(&read(zip).unwrap()), ["claude:c1"]);
        let project = br#"[{"uuid": "p", "name": "Garden", "prompt_template": "x", "docs": []}]"#;
        let zip = zip_archive(&[
            ("conversations.json", CLAUDE.as_bytes()),
            ("projects/p.json", project),
            ("memories.json", b"[]"),
        ]);
        let read_project = read(zip).unwrap();
        assert_eq!(origins(&read_project), ["claude:c1", "claude-project:p"]);
        assert!(read_project.problems.is_empty(), "{:?}", read_project.problems);
        // A project whose checksum is wrong.
        let mut zip = zip_archive(&[
            ("conversations.json", CLAUDE.as_bytes()),
            ("projects/p.json", project),
            ("projects/q.json", &project.map(|byte| if byte == b'p' { b'q' } else { byte })),
        ]);
        let at = zip.windows(15).position(|name| name == b"projects/p.json").unwrap();
        zip[at + 15] ^= 0xff;
        let damaged = read(zip).unwrap();
        assert_eq!(damaged.drafts.len(), 2, "{damaged:?}");
        assert_eq!(damaged.problems[0].place, "projects/p.json");
        let split = [
            ("x/conversations-001.json", CLAUDE.as_bytes()),
            ("x/conversations-000.json", CHATGPT.as_bytes()),
            ("shared_conversations.json", b"[]"),
        ];
        assert_eq!(origins(&read(zip_archive(&split)).unwrap()), ["chatgpt:g1", "claude:c1"]);
        let other = zip_archive(&[("user.json", b"{}")]);
        assert_eq!(
            ChatExportImporter.detect(&probe_file("export.zip", &other)),
            Confidence::NoMatch
        );
        assert!(matches!(read(other), Err(ImportError::NotAChatExport { .. })));
        assert!(matches!(read(b"PK\x03\x04".to_vec()), Err(ImportError::Archive { .. })));
    }

    #[test]
    fn broken_conversation_is_reported_others_kept() {
        let deep = format!(r#"{{"mapping": {}{}}}"#, "[".repeat(9000), "]".repeat(9000));
        let broken = r#"{"title": "Bad", "mapping": 5}"#;
        let empty = r#"{"name": "", "uuid": "e", "chat_messages": []}"#;
        let reading = parse_export(&format!("[{broken}, {deep}, {empty}, 7, {CLAUDE}]")).unwrap();
        assert_eq!(origins(&reading), ["claude:c1"]);
        let found: Vec<_> = reading.problems.iter().map(|it| it.place.as_str()).collect();
        let expected =
            ["conversation `Bad`", "conversation 2", "conversation `e`", "conversation 4"];
        assert_eq!(found, expected);
        assert_eq!(reading.problems[2].reason, "it has no messages");
    }

    #[test]
    fn conversation_without_id_is_identified_by_position() {
        let reading = parse_export(&CLAUDE.replace(r#""uuid": "c1","#, "")).unwrap();
        assert_eq!(origins(&reading), ["file:/conversations.json#1"]);
    }

    #[test]
    fn unknown_file_error_lists_supported_exports() {
        for text in ["{}", "7", "[1, 2]", r#"{"name": "x"}"#] {
            let error = parse_export(text).unwrap_err().to_string();
            assert!(error.contains("ChatGPT and of Claude"), "{error}");
        }
        let error = parse_export("[{\"mapping\":").unwrap_err();
        assert!(matches!(error, ImportError::Json { .. }), "{error}");
        assert!(parse_export(&"[".repeat(1_000_000)).is_err());
        assert!(parse_export(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).is_err());
    }

    #[test]
    fn digest_depends_on_conversation_only() {
        let digest = |text: &str| parse_export(text).unwrap().drafts[0].digest.clone();
        assert_eq!(
            digest(CLAUDE),
            digest(&CLAUDE.replace("\"uuid\": \"c1\"", "\"x\": 1, \"uuid\": \"c1\""))
        );
        assert_ne!(digest(CLAUDE), digest(&CLAUDE.replace("How?", "Why?")));
    }
}
