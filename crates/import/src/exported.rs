//! The export format, one file per item: `export` writes it, `import` reads it back.
//!
//! A note or document is Markdown whose front matter has one line `key: value` per field; the
//! values are JSON, which is also YAML. Everything else is JSON; a character is a card that other
//! programs can read. The field `vademecum` comes first and identifies the format.

use std::{fmt::Write, io, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Deserializer, Map, Value};
use vademecum_model::{CharacterDraft, Draft, DraftBody, FrontMatterBlock, SourceName};
use vademecum_vault::journal::{ExportedVersions, MAX_EXPORTED_BYTES};

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile, digest,
    files::{
        neighbours::{Neighbours, PICTURE_EXTENSIONS},
        source_file::has_extension,
    },
};

/// Version of the importer; increment when the same file produces a different item.
const VERSION: &str = "exported/1";

/// Version of the format. Files with a higher version are rejected.
pub const FORMAT_VERSION: u32 = 1;

/// First field of every exported file, after `{` or the first line of front matter.
const FORMAT_MARK: &str = "vademecum";

/// Fields that a card has in its `data`, and a character in its extensions.
const CARD_FIELDS: [&str; 5] =
    ["character_book", "assets", "nickname", "group_only_greetings", "source"];

/// Maximum size of a file of versions, in bytes. With indentation it is larger than its content.
const MAX_VERSIONS_BYTES: usize = 4 * MAX_EXPORTED_BYTES;

/// Reason why a file that an item names cannot be read.
const MISSING_NEIGHBOUR: &str = "there is no such file with the name of the item";

type Fields = Map<String, Value>;

/// The header of an exported file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    source: SourceName,
    id: String,
    origin: String,
    /// Name of the picture file in the same folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// Name of the file with the earlier versions in the same folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    versions: Option<String>,
}

/// The earlier versions of an item. Without the field `source`, no importer reads it as an item.
#[derive(Debug, Serialize, Deserialize)]
struct VersionsFile {
    vademecum: VersionsHeader,
    #[serde(flatten)]
    versions: ExportedVersions,
}

#[derive(Debug, Serialize, Deserialize)]
struct VersionsHeader {
    format: u32,
    versions_of: String,
}

/// An exported JSON file.
#[derive(Debug, Serialize, Deserialize)]
struct JsonFile<T> {
    vademecum: Header,
    #[serde(flatten)]
    item: T,
}

/// A character as a card of version 3.
#[derive(Debug, Serialize, Deserialize)]
struct CardFile {
    spec: String,
    spec_version: String,
    data: Fields,
}

/// The files of an exported item: names and contents.
pub type ItemFiles = Vec<(String, Vec<u8>)>;

/// Converts an item and its earlier versions to files. `stem` is the file name without extension.
pub fn write_item(
    draft: Draft,
    versions: Option<ExportedVersions>,
    stem: &str,
) -> serde_json::Result<ItemFiles> {
    let versions_name = format!("{stem}.versions.json");
    let versions = versions.map(|versions| VersionsFile {
        vademecum: VersionsHeader {
            format: FORMAT_VERSION,
            versions_of: draft.id.clone().unwrap_or_default(),
        },
        versions,
    });
    let header = Header {
        format: FORMAT_VERSION,
        source: draft.body.source(),
        id: draft.id.unwrap_or_default(),
        origin: draft.origin,
        picture: None,
        versions: versions.is_some().then(|| versions_name.clone()),
    };
    let json = |text: String| vec![(format!("{stem}.json"), (text + "\n").into_bytes())];
    let mut files = match draft.body {
        DraftBody::Note(note) => markdown_file(stem, &header, serde_json::to_value(note)?),
        // A transcript has times and is not readable as Markdown.
        DraftBody::Media(media) if media.transcript.is_some() => json(json_text(header, media)?),
        DraftBody::Media(media) => markdown_file(stem, &header, serde_json::to_value(media)?),
        DraftBody::Chat(chat) => json(json_text(header, chat)?),
        DraftBody::Prompt(prompt) => json(json_text(header, prompt)?),
        DraftBody::Character(character) => {
            let image = character.image.clone();
            let picture =
                image.map(|image| (format!("{stem}.{}", picture_extension(&image)), image));
            let name = picture.as_ref().map(|(name, _)| name.clone());
            let mut files =
                json(json_text(Header { picture: name, ..header }, to_card(*character)?)?);
            files.extend(picture);
            files
        }
    };
    if let Some(versions) = versions {
        let text = serde_json::to_string_pretty(&versions)? + "\n";
        files.push((versions_name, text.into_bytes()));
    }
    Ok(files)
}

fn json_text<T: Serialize>(vademecum: Header, item: T) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&JsonFile { vademecum, item })
}

fn markdown_file(stem: &str, header: &Header, item: Value) -> ItemFiles {
    let Value::Object(mut fields) = item else { return ItemFiles::new() };
    let content = fields.remove("content");
    let mut text = format!("---\n{FORMAT_MARK}: {}\n", serde_json::json!(header));
    for (name, value) in &fields {
        // Writing to a `String` is infallible.
        writeln!(text, "{name}: {value}").ok();
    }
    text.push_str("---\n");
    text.push_str(content.as_ref().and_then(Value::as_str).unwrap_or_default());
    vec![(format!("{stem}.md"), text.into_bytes())]
}

fn to_card(character: CharacterDraft) -> serde_json::Result<CardFile> {
    let mut data = match serde_json::to_value(character)? {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    };
    for name in CARD_FIELDS {
        let extensions = data.get_mut("extensions").and_then(Value::as_object_mut);
        if let Some(value) = extensions.and_then(|extensions| extensions.remove(name)) {
            data.insert(name.to_owned(), value);
        }
    }
    Ok(CardFile { spec: "chara_card_v3".to_owned(), spec_version: "3.0".to_owned(), data })
}

fn from_card(mut card: CardFile) -> serde_json::Result<CharacterDraft> {
    for name in CARD_FIELDS {
        if let Some(value) = card.data.remove(name) {
            let extensions = card.data.entry("extensions").or_insert_with(|| Fields::new().into());
            if let Some(extensions) = extensions.as_object_mut() {
                extensions.insert(name.to_owned(), value);
            }
        }
    }
    serde_json::from_value(card.data.into())
}

/// Returns the file extension of a picture, by its signature.
fn picture_extension(image: &[u8]) -> &'static str {
    let [png, jpg, webp, gif, other] = PICTURE_EXTENSIONS;
    match image {
        [0x89, b'P', b'N', b'G', ..] => png,
        [0xff, 0xd8, 0xff, ..] => jpg,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp,
        [b'G', b'I', b'F', b'8', ..] => gif,
        _ => other,
    }
}

/// Returns `true` if a file is part of an export, including the picture of a character, which is
/// not an item itself. Such files are read by [`ExportImporter`] only.
pub(super) fn is_exported_file(probe: &FileProbe) -> bool {
    begins_with_mark(probe) || {
        let item = probe.path().with_extension("json");
        has_extension(probe.path(), &PICTURE_EXTENSIONS)
            && probe.neighbours().open(&item).is_some_and(|item| {
                let item = FileProbe::probe(item, Neighbours::default());
                item.is_ok_and(|item| begins_with_mark(&item))
            })
    }
}

fn begins_with_mark(probe: &FileProbe) -> bool {
    after_mark(probe.head_text()).is_some()
}

/// Returns the text that follows the name of the field `vademecum`, if the file begins with it.
fn after_mark(opening: &str) -> Option<&str> {
    let json = || opening.strip_prefix('{')?.trim_start().strip_prefix("\"vademecum\":");
    opening.strip_prefix("---\nvademecum:").or_else(json)
}

/// Returns the importer of an exported file; `None` if the user chose another source or the file is
/// not an item.
pub(super) fn find_importer(
    source: Option<SourceName>,
    probe: &FileProbe,
) -> Option<&'static dyn Importer> {
    let fits = |it: &&ExportImporter| {
        it.detect(probe) > Confidence::NoMatch && source.is_none_or(|source| source == it.0)
    };
    EXPORT_IMPORTERS.iter().find(fits).map(|it| it as &dyn Importer)
}

/// Returns the importers of exported files.
pub(super) fn importers() -> impl Iterator<Item = &'static dyn Importer> {
    EXPORT_IMPORTERS.iter().map(|it| it as &dyn Importer)
}

/// One importer for each source.
static EXPORT_IMPORTERS: [ExportImporter; 5] = [
    ExportImporter(SourceName::Notes),
    ExportImporter(SourceName::Media),
    ExportImporter(SourceName::Chats),
    ExportImporter(SourceName::Characters),
    ExportImporter(SourceName::Prompts),
];

/// Importer of the exported files of one source.
#[derive(Debug)]
pub(super) struct ExportImporter(pub(super) SourceName);

impl Importer for ExportImporter {
    fn source(&self) -> SourceName {
        self.0
    }

    fn format_name(&self) -> &'static str {
        "files of a Vademecum export"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let header = after_mark(probe.head_text())
            .and_then(|rest| Deserializer::from_str(rest).into_iter::<Value>().next()?.ok());
        let source = header.as_ref().and_then(|header| header.get("source")?.as_str());
        Confidence::ByContent.when(source == Some(self.0.as_str()))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let failed = |cause| ImportError::Json { path: file.path.clone(), cause };
        let text = file.text()?;
        let fields = if text.starts_with("---") {
            front_matter_json(&text).map_err(failed)?
        } else {
            text.into_owned()
        };
        let (header, mut body) = self.parse_item(&fields).map_err(failed)?;
        let mut picture = None;
        if let (DraftBody::Character(character), Some(name)) = (&mut body, &header.picture) {
            let beside = open_sibling(file, name)?;
            character.image = Some(beside.bytes.clone());
            picture = Some(beside);
        }
        let parts = [Some(&file.bytes), picture.as_ref().map(|picture| &picture.bytes)];
        let digest = digest(VERSION, parts.into_iter().flatten().map(Vec::as_slice));
        let mut problems = Vec::new();
        let versions = header.versions.as_deref().map(|name| read_versions(file, name, &header.id));
        let versions = versions.and_then(|read| {
            read.map_err(|reason| problems.push(Problem { place: "versions".to_owned(), reason }))
                .ok()
        });
        let draft = Draft { origin: header.origin, digest, id: Some(header.id), body };
        Ok(ParsedFile { drafts: vec![draft], problems, versions, ..ParsedFile::default() })
    }
}

impl ExportImporter {
    fn parse_item(&self, json: &str) -> serde_json::Result<(Header, DraftBody)> {
        fn parse<T: DeserializeOwned>(json: &str) -> serde_json::Result<(Header, T)> {
            let JsonFile { vademecum, item } = serde_json::from_str(json)?;
            if vademecum.format > FORMAT_VERSION {
                let newer = "it was written by a newer program; update this one to read it";
                return Err(serde::de::Error::custom(newer));
            }
            Ok((vademecum, item))
        }
        Ok(match self.0 {
            SourceName::Notes => parse(json).map(|(header, it)| (header, DraftBody::Note(it)))?,
            SourceName::Media => parse(json).map(|(header, it)| (header, DraftBody::Media(it)))?,
            SourceName::Chats => parse(json).map(|(header, it)| (header, DraftBody::Chat(it)))?,
            SourceName::Prompts => {
                parse(json).map(|(header, it)| (header, DraftBody::Prompt(it)))?
            }
            SourceName::Collections => {
                let none = "collections are built from their folders, not imported";
                return Err(serde::de::Error::custom(none));
            }
            SourceName::Characters => {
                let (header, card) = parse(json)?;
                (header, DraftBody::Character(Box::new(from_card(card)?)))
            }
        })
    }
}

/// Converts an exported Markdown file to the text of one JSON object.
fn front_matter_json(text: &str) -> serde_json::Result<String> {
    let no_matter = || serde::de::Error::custom("its front matter does not end");
    let FrontMatterBlock { matter, body, .. } =
        FrontMatterBlock::find(text).ok_or_else(no_matter)?;
    let mut fields =
        parse_written_fields(matter).map_or_else(|| parse_edited_fields(matter), Ok)?;
    fields.insert("content".to_owned(), body.into());
    serde_json::to_string(&fields)
}

/// Parses front matter as written by `export`; `None` if it was edited.
fn parse_written_fields(matter: &str) -> Option<Fields> {
    let field = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_owned(), serde_json::from_str(value).ok()?))
    };
    matter.lines().map(field).collect()
}

/// Parses front matter that was edited by hand, as YAML.
fn parse_edited_fields(matter: &str) -> serde_json::Result<Fields> {
    serde_saphyr::from_str(matter).map_err(serde::de::Error::custom)
}

/// Reads the earlier versions of an item from a file in the same folder.
fn read_versions(file: &SourceFile, name: &str, id: &str) -> Result<ExportedVersions, String> {
    let beside = open_sibling(file, name).map_err(|error| error.to_string())?;
    if beside.bytes.len() > MAX_VERSIONS_BYTES {
        return Err(format!("`{name}` has more than {MAX_VERSIONS_BYTES} bytes"));
    }
    let read: VersionsFile =
        serde_json::from_slice(&beside.bytes).map_err(|error| format!("`{name}`: {error}"))?;
    if read.vademecum.format > FORMAT_VERSION || read.vademecum.versions_of != id {
        return Err(format!("`{name}` belongs to another item, or to a newer program"));
    }
    Ok(read.versions)
}

/// Opens a file in the same folder. Fails for other paths and for links, which may lead out of the
/// folder.
fn open_sibling(file: &SourceFile, name: &str) -> Result<SourceFile, ImportError> {
    let path = file.path.with_file_name(name);
    let is_name = Path::new(name).file_name().is_some_and(|last| last == name);
    if !is_name {
        return Err(ImportError::NotAFile { path });
    }
    file.read_neighbour(&path).unwrap_or_else(|| {
        let cause = io::Error::new(io::ErrorKind::NotFound, MISSING_NEIGHBOUR);
        Err(ImportError::Open { path, cause })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use vademecum_model::{
        ChatDraft, Cue, GeneratedMediaData, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
        StoredChunk, Timestamp, Transcript,
    };

    use super::*;

    fn awkward_drafts() -> Vec<Draft> {
        let when = Timestamp::parse("2026-01-02T03:04:05.678Z").ok();
        let awkward = "---\ntitle: \"x\"\n---\n\n\r\n# A: b\u{2028}\u{7f} \\ \"q\"\n---\nend";
        let tags = vec!["a, b".to_owned(), "ü: #".to_owned()];
        let note = NoteDraft {
            title: "A: \"b\"\n- c\u{85}".to_owned(),
            content: awkward.to_owned(),
            tags: tags.clone(),
            created_at: when,
            modified_at: when,
            ..NoteDraft::default()
        };
        let media = MediaDraft {
            title: "null".to_owned(),
            media_type: "txt".to_owned(),
            content: awkward.to_owned(),
            ingested_at: when,
            ..MediaDraft::default()
        };
        let cue =
            Cue { start_ms: 1, end_ms: 2, speaker: Some("Ada".to_owned()), text: "x".to_owned() };
        let transcript = Some(Transcript { language: None, cues: vec![cue] });
        let message = MessageDraft {
            origin: "m".to_owned(),
            id: Some("m".to_owned()),
            sender: "user".to_owned(),
            content: awkward.to_owned(),
            sent_at: when,
            model: Some("large".to_owned()),
            commands: vec!["cat beds.txt".to_owned()],
            files: vec!["/beds.txt".to_owned()],
        };
        let extensions = serde_json::json!({"character_book": {"entries": []}, "depth": 4});
        let character = CharacterDraft {
            name: "Ada".to_owned(),
            first_message: Some(awkward.to_owned()),
            tags,
            extensions: extensions.as_object().unwrap().clone(),
            image: Some(b"GIF89a".to_vec()),
            created_at: when,
            ..CharacterDraft::default()
        };
        let prompt = PromptDraft {
            name: "P".to_owned(),
            user_prompt: Some(awkward.to_owned()),
            ..PromptDraft::default()
        };
        let chunk =
            StoredChunk { start: Some(0), end: Some(3), kind: None, ..StoredChunk::default() };
        let kept = Some(GeneratedMediaData {
            chunks: vec![chunk],
            length: Some(3),
            ..GeneratedMediaData::default()
        });
        let recording = MediaDraft { transcript, kept: kept.clone(), ..media.clone() };
        let media = MediaDraft { kept, ..media };
        [
            DraftBody::Note(note),
            DraftBody::Media(media),
            DraftBody::Media(recording),
            DraftBody::Chat(ChatDraft { messages: vec![message], ..ChatDraft::default() }),
            DraftBody::Character(Box::new(character)),
            DraftBody::Prompt(prompt),
        ]
        .map(|body| Draft::from_stored("7", body))
        .into()
    }

    /// Writes the files of a draft to a folder and returns the path of the item.
    fn write_files(folder: &Path, draft: Draft) -> std::path::PathBuf {
        let files = write_item(draft, None, "item").unwrap();
        for (name, bytes) in &files {
            fs::write(folder.join(name), bytes).unwrap();
        }
        folder.join(&files[0].0)
    }

    #[test]
    fn exported_items_are_read_back_unchanged() {
        for draft in awkward_drafts() {
            let folder = tempfile::tempdir().unwrap();
            let path = write_files(folder.path(), draft.clone());
            let source = draft.body.source();
            let probe = FileProbe::open(&path, None).unwrap();
            assert!(is_exported_file(&probe), "{source}");
            for other in SourceName::ALL {
                let fit = ExportImporter(other).detect(&probe);
                assert_eq!(fit, Confidence::ByContent.when(other == source), "{source} as {other}");
            }
            let file = SourceFile::open(&path, None).unwrap();
            let read = ExportImporter(source).parse(&file).unwrap().drafts.remove(0);
            let expected = Draft { digest: read.digest.clone(), ..draft };
            assert_eq!(format!("{read:?}"), format!("{expected:?}"));
        }
    }

    #[test]
    fn exported_character_is_card_with_separate_picture() {
        let folder = tempfile::tempdir().unwrap();
        let path = write_files(folder.path(), awkward_drafts().remove(4));
        let card =
            crate::characters::card::parse_card(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(card.name, "Ada");
        assert!(card.extensions.contains_key("character_book"));
        assert!(is_exported_file(&FileProbe::open(&folder.path().join("item.gif"), None).unwrap()));
        fs::remove_file(folder.path().join("item.gif")).unwrap();
        let read = |path: &Path| {
            let file = SourceFile::open(path, None).unwrap();
            ExportImporter(SourceName::Characters).parse(&file).unwrap_err().to_string()
        };
        assert!(read(&path).contains("item.gif"), "what is missing is named");
        let text = fs::read_to_string(&path).unwrap().replace("item.gif", "../item.gif");
        fs::write(&path, text).unwrap();
        assert!(read(&path).contains("not a regular file"));
    }

    #[test]
    fn edited_front_matter_is_parsed_as_yaml() {
        let text = "---\nvademecum: {\"format\": 1, \"source\": \"notes\", \"id\": \"7\", \"origin\": \"o\"}\n\
                    title: My note\ntags:\n  - a\n  - b\n---\nText.\n";
        let file = SourceFile::in_memory("/a.md", text);
        let draft = ExportImporter(SourceName::Notes).parse(&file).unwrap().drafts.remove(0);
        let DraftBody::Note(note) = draft.body else { panic!("not a note") };
        assert_eq!((note.title.as_str(), note.tags.len()), ("My note", 2));
        assert_eq!(note.content, "Text.\n");
    }

    #[test]
    fn newer_or_broken_exports_are_rejected_with_reason() {
        let refused = |source, text: &str| {
            let file = SourceFile::in_memory("/a.md", text);
            ExportImporter(source).parse(&file).unwrap_err().to_string()
        };
        let newer =
            r#"{"vademecum": {"format": 2, "source": "prompts", "id": "1", "origin": "o"}}"#;
        assert!(refused(SourceName::Prompts, newer).contains("newer program"));
        assert!(refused(SourceName::Notes, "---\nvademecum: {}\n").contains("does not end"));
        assert!(refused(SourceName::Chats, "{\"vademecum\": {}}").contains("missing field"));
    }
}
