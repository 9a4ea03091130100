//! Conversations as chat services export them.
//!
//! Every service calls its file `conversations.json`; which one wrote it is
//! seen in the conversations. They are parsed one by one, so that one that
//! is broken costs nothing but itself.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use vademecum_kit::model::SourceName;

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, archive::Archive, chatgpt, claude,
    conversation::Conversation, json::entries,
};

/// Reads conversations.
#[derive(Debug)]
pub(super) struct Chats;

impl Importer for Chats {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format(&self) -> &'static str {
        "conversations exported by ChatGPT or Claude (.json, .zip)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let is_json = glance.ends_in(&["json"]);
        if glance.entries().iter().any(|name| is_export(name)) {
            return Fit::Content;
        }
        let says_so = ["\"mapping\"", "\"chat_messages\""]
            .iter()
            .any(|field| glance.opening().contains(field));
        Fit::Content.when(is_json && says_so).max(Fit::Maybe.when(is_json))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let mut reading = Reading::default();
        for part in parts(file)? {
            let part = part.as_ref().unwrap_or(file);
            let text = part.text()?;
            let conversations = conversations(part, &text)?;
            let services: Vec<_> = conversations.iter().map(|json| Service::of(json)).collect();
            if !services.is_empty() && services.iter().all(Option::is_none) {
                return Err(ImportError::NotChats { path: file.path.clone() });
            }
            for (number, (json, service)) in (1..).zip(conversations.into_iter().zip(services)) {
                let read = service.map_or_else(foreign, |service| service.read(json));
                reading.add(part, number, place(number, json), read);
            }
        }
        Ok(reading)
    }
}

/// Whether that is what a service calls its conversations in an archive: a
/// large account's are numbered.
fn is_export(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let middle = name.strip_prefix("conversations").and_then(|name| name.strip_suffix(".json"));
    middle.is_some_and(|middle| middle.chars().all(|next| next == '-' || next.is_ascii_digit()))
}

/// The files with conversations in an archive; none in the place of a file
/// that is no archive and such a one itself.
fn parts(file: &SourceFile) -> Result<Vec<Option<SourceFile>>, ImportError> {
    if !file.bytes.starts_with(b"PK\x03\x04") {
        return Ok(vec![None]);
    }
    let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
    let mut archive = Archive::open(&file.bytes).map_err(refused)?;
    let mut names: Vec<_> = archive.names().into_iter().filter(|name| is_export(name)).collect();
    names.sort_unstable();
    let mut parts = Vec::new();
    for name in names {
        let bytes = archive.unpack(&name).map_err(refused)?;
        parts.extend(bytes.map(|bytes| {
            let (path, root) = (file.path.clone(), file.root.clone());
            Some(SourceFile { path, root, bytes, modified: file.modified })
        }));
    }
    if parts.is_empty() {
        return Err(ImportError::NotChats { path: file.path.clone() });
    }
    Ok(parts)
}

/// The conversations of a file: a list, or one alone.
fn conversations<'a>(file: &SourceFile, text: &'a str) -> Result<Vec<&'a RawValue>, ImportError> {
    entries(text).map_err(|cause| ImportError::Json { path: file.path.clone(), cause })
}

#[derive(Clone, Copy, Debug)]
enum Service {
    ChatGpt,
    Claude,
}

impl Service {
    /// The service that writes conversations of this form.
    fn of(json: &RawValue) -> Option<Self> {
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

    fn read(self, json: &RawValue) -> Result<Conversation, String> {
        match self {
            Self::ChatGpt => chatgpt::conversation(json.get()),
            Self::Claude => claude::conversation(json.get()),
        }
    }
}

fn foreign() -> Result<Conversation, String> {
    Err("it has neither the form of ChatGPT nor that of Claude".to_owned())
}

/// What a user would find the conversation by.
fn place(number: usize, json: &RawValue) -> String {
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
    use crate::glance::tests::{glance, packed};

    const CLAUDE: &str = r#"{"uuid": "c1", "name": "Rye", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "How?"}]}"#;
    const CHATGPT: &str = r#"{"id": "g1", "title": "Oat", "current_node": "n1", "mapping": {"n1": {
        "message": {"id": "m1", "author": {"role": "user"}, "content": {"parts": ["Why?"]}}}}}"#;

    fn read(text: &str) -> Result<Reading, ImportError> {
        Chats.read(&SourceFile::example("/conversations.json", text))
    }

    fn origins(reading: &Reading) -> Vec<&str> {
        reading.drafts.iter().map(|draft| draft.origin.as_str()).collect()
    }

    #[test]
    fn the_service_is_known_by_the_form() {
        assert_eq!(origins(&read(CLAUDE).unwrap()), ["claude:c1"]);
        assert_eq!(origins(&read(CHATGPT).unwrap()), ["chatgpt:g1"]);
        let both = format!("\u{feff} [{CLAUDE}, {CHATGPT}]");
        assert_eq!(origins(&read(&both).unwrap()), ["claude:c1", "chatgpt:g1"]);
        assert!(read("[]").unwrap().drafts.is_empty());
    }

    #[test]
    fn an_export_is_read_out_of_its_archive() {
        let zip = packed(&[("user.json", b"{}"), ("conversations.json", CLAUDE.as_bytes())]);
        assert_eq!(Chats.recognise(&glance("export.zip", &zip)), Fit::Content);
        let read = |bytes| Chats.read(&SourceFile::example("/export.zip", bytes));
        assert_eq!(origins(&read(zip).unwrap()), ["claude:c1"]);
        let split = [
            ("x/conversations-001.json", CLAUDE.as_bytes()),
            ("x/conversations-000.json", CHATGPT.as_bytes()),
            ("shared_conversations.json", b"[]"),
        ];
        assert_eq!(origins(&read(packed(&split)).unwrap()), ["chatgpt:g1", "claude:c1"]);
        let other = packed(&[("user.json", b"{}")]);
        assert_eq!(Chats.recognise(&glance("export.zip", &other)), Fit::No);
        assert!(matches!(read(other), Err(ImportError::NotChats { .. })));
        assert!(matches!(read(b"PK\x03\x04".to_vec()), Err(ImportError::Archive { .. })));
    }

    #[test]
    fn a_broken_conversation_is_named_and_the_rest_goes_in() {
        let deep = format!(r#"{{"mapping": {}{}}}"#, "[".repeat(9000), "]".repeat(9000));
        let broken = r#"{"title": "Bad", "mapping": 5}"#;
        let empty = r#"{"name": "", "uuid": "e", "chat_messages": []}"#;
        let reading = read(&format!("[{broken}, {deep}, {empty}, 7, {CLAUDE}]")).unwrap();
        assert_eq!(origins(&reading), ["claude:c1"]);
        let places: Vec<_> = reading.problems.iter().map(|it| it.place.as_str()).collect();
        let expected =
            ["conversation `Bad`", "conversation 2", "conversation `e`", "conversation 4"];
        assert_eq!(places, expected);
        assert_eq!(reading.problems[2].reason, "it has no messages");
    }

    #[test]
    fn a_conversation_without_an_id_is_known_by_its_place() {
        let reading = read(&CLAUDE.replace(r#""uuid": "c1","#, "")).unwrap();
        assert_eq!(origins(&reading), ["file:/conversations.json#1"]);
    }

    #[test]
    fn what_is_no_export_is_told_what_would_be() {
        for text in ["{}", "7", "[1, 2]", r#"{"name": "x"}"#] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("ChatGPT and of Claude"), "{error}");
        }
        let error = read("[{\"mapping\":").unwrap_err();
        assert!(matches!(error, ImportError::Json { .. }), "{error}");
        assert!(read(&"[".repeat(1_000_000)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).is_err());
    }

    #[test]
    fn the_fingerprint_follows_the_conversation_alone() {
        let digest = |text: &str| read(text).unwrap().drafts[0].digest.clone();
        assert_eq!(
            digest(CLAUDE),
            digest(&CLAUDE.replace("\"uuid\": \"c1\"", "\"x\": 1, \"uuid\": \"c1\""))
        );
        assert_ne!(digest(CLAUDE), digest(&CLAUDE.replace("How?", "Why?")));
    }
}
