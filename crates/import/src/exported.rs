//! One item as a file of our own: what `export` writes, `import` reads back.
//!
//! A note or a document is Markdown, with a line `key: value` in its front
//! matter for each of its fields; the values are JSON, which is YAML as well.
//! Everything else is JSON; a character is a card that other programs can read.
//! The field `vademecum` comes first: by it a file is known as ours.

use std::{fmt::Write, fs, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Deserializer, Map, Value};
use vademecum_kit::model::{Body, CharacterDraft, Draft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, digest::digest, file::ends_in,
};

/// Goes up when the same file makes another item than before.
const VERSION: &str = "exported/1";

/// The form of the files. One that is newer is refused.
pub const FORMAT: u32 = 1;

/// Begins every file of ours, after `{` or the first line of front matter.
const MARK: &str = "vademecum";

/// What a card has in its `data`, and a character among its extensions.
const CARD_FIELDS: [&str; 5] =
    ["character_book", "assets", "nickname", "group_only_greetings", "source"];

/// Pictures that may lie beside a character.
const PICTURES: [&str; 5] = ["png", "jpg", "webp", "gif", "bin"];

type Fields = Map<String, Value>;

/// What a file of ours says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    source: SourceName,
    id: String,
    origin: String,
    /// The file beside it that has the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
}

/// A file of ours that is JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Sheet<T> {
    vademecum: Header,
    #[serde(flatten)]
    item: T,
}

/// A character as a card of the third version.
#[derive(Debug, Serialize, Deserialize)]
struct Card {
    spec: String,
    spec_version: String,
    data: Fields,
}

/// An item, written: the files it takes, by their names.
pub type Files = Vec<(String, Vec<u8>)>;

/// Writes an item. `stem` is what its files are called, without extension.
pub fn write(draft: Draft, stem: &str) -> serde_json::Result<Files> {
    let header = Header {
        format: FORMAT,
        source: draft.body.source(),
        id: draft.id.unwrap_or_default(),
        origin: draft.origin,
        picture: None,
    };
    let json = |text: String| vec![(format!("{stem}.json"), (text + "\n").into_bytes())];
    Ok(match draft.body {
        Body::Note(note) => markdown(stem, &header, serde_json::to_value(note)?),
        // What is said when is no text to be read.
        Body::Media(media) if media.transcript.is_some() => json(sheet(header, media)?),
        Body::Media(media) => markdown(stem, &header, serde_json::to_value(media)?),
        Body::Chat(chat) => json(sheet(header, chat)?),
        Body::Prompt(prompt) => json(sheet(header, prompt)?),
        Body::Character(character) => {
            let image = character.image.clone();
            let picture = image.map(|image| (format!("{stem}.{}", kind(&image)), image));
            let name = picture.as_ref().map(|(name, _)| name.clone());
            let mut files = json(sheet(Header { picture: name, ..header }, card(*character)?)?);
            files.extend(picture);
            files
        }
    })
}

fn sheet<T: Serialize>(vademecum: Header, item: T) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&Sheet { vademecum, item })
}

fn markdown(stem: &str, header: &Header, item: Value) -> Files {
    let Value::Object(mut fields) = item else { return Files::new() };
    let content = fields.remove("content");
    let mut text = format!("---\n{MARK}: {}\n", serde_json::json!(header));
    for (name, value) in &fields {
        // Writing into a string cannot fail.
        writeln!(text, "{name}: {value}").ok();
    }
    text.push_str("---\n");
    text.push_str(content.as_ref().and_then(Value::as_str).unwrap_or_default());
    vec![(format!("{stem}.md"), text.into_bytes())]
}

fn card(character: CharacterDraft) -> serde_json::Result<Card> {
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
    Ok(Card { spec: "chara_card_v3".to_owned(), spec_version: "3.0".to_owned(), data })
}

fn character(mut card: Card) -> serde_json::Result<CharacterDraft> {
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

/// The extension that belongs to a picture.
fn kind(image: &[u8]) -> &'static str {
    let [png, jpg, webp, gif, other] = PICTURES;
    match image {
        [0x89, b'P', b'N', b'G', ..] => png,
        [0xff, 0xd8, 0xff, ..] => jpg,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp,
        [b'G', b'I', b'F', b'8', ..] => gif,
        _ => other,
    }
}

/// Whether a file is part of an export, and so is read by nobody but
/// [`Exported`]: not everything in it is an item.
pub(super) fn is_ours(glance: &Glance) -> bool {
    begins_as_ours(glance) || {
        let sheet = glance.path().with_extension("json");
        ends_in(glance.path(), &PICTURES)
            && Glance::take(&sheet, None).is_ok_and(|sheet| begins_as_ours(&sheet))
    }
}

fn begins_as_ours(glance: &Glance) -> bool {
    after_mark(glance.opening()).is_some()
}

/// What follows the mark of a file of ours.
fn after_mark(opening: &str) -> Option<&str> {
    let json = || opening.strip_prefix('{')?.trim_start().strip_prefix("\"vademecum\":");
    opening.strip_prefix("---\nvademecum:").or_else(json)
}

/// The importer of a file of an export, unless another source is asked for, or
/// the file is no item by itself.
pub(super) fn importer(
    source: Option<SourceName>,
    glance: &Glance,
) -> Option<&'static dyn Importer> {
    let fits = |it: &&Exported| {
        it.recognise(glance) > Fit::No && source.is_none_or(|source| source == it.0)
    };
    ALL.iter().find(fits).map(|it| it as &dyn Importer)
}

/// One for each source.
static ALL: [Exported; 5] = [
    Exported(SourceName::Notes),
    Exported(SourceName::Media),
    Exported(SourceName::Chats),
    Exported(SourceName::Characters),
    Exported(SourceName::Prompts),
];

/// Reads the files of an export that belong to one source.
#[derive(Debug)]
pub(super) struct Exported(pub(super) SourceName);

impl Importer for Exported {
    fn source(&self) -> SourceName {
        self.0
    }

    fn format(&self) -> &'static str {
        "files of a Vademecum export"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let header = after_mark(glance.opening())
            .and_then(|rest| Deserializer::from_str(rest).into_iter::<Value>().next()?.ok());
        let source = header.as_ref().and_then(|header| header.get("source")?.as_str());
        Fit::Content.when(source == Some(self.0.as_str()))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let failed = |cause| ImportError::Json { path: file.path.clone(), cause };
        let text = file.text()?;
        let fields = if text.starts_with("---") {
            front_matter(&text).map_err(failed)?
        } else {
            text.into_owned()
        };
        let (header, mut body) = self.body(&fields).map_err(failed)?;
        let mut picture = None;
        if let (Body::Character(character), Some(name)) = (&mut body, &header.picture) {
            let beside = beside(file, name)?;
            character.image = Some(beside.bytes.clone());
            picture = Some(beside);
        }
        let parts = [Some(&file.bytes), picture.as_ref().map(|picture| &picture.bytes)];
        let digest = digest(VERSION, parts.into_iter().flatten().map(Vec::as_slice));
        Ok(Draft { origin: header.origin, digest, id: Some(header.id), body }.into())
    }
}

impl Exported {
    fn body(&self, json: &str) -> serde_json::Result<(Header, Body)> {
        fn sheet<T: DeserializeOwned>(json: &str) -> serde_json::Result<(Header, T)> {
            let Sheet { vademecum, item } = serde_json::from_str(json)?;
            if vademecum.format > FORMAT {
                let newer = "it was written by a newer program; use that";
                return Err(serde::de::Error::custom(newer));
            }
            Ok((vademecum, item))
        }
        Ok(match self.0 {
            SourceName::Notes => sheet(json).map(|(header, it)| (header, Body::Note(it)))?,
            SourceName::Media => sheet(json).map(|(header, it)| (header, Body::Media(it)))?,
            SourceName::Chats => sheet(json).map(|(header, it)| (header, Body::Chat(it)))?,
            SourceName::Prompts => sheet(json).map(|(header, it)| (header, Body::Prompt(it)))?,
            SourceName::Collections => {
                let none = "collections are built from their folders, not imported";
                return Err(serde::de::Error::custom(none));
            }
            SourceName::Characters => {
                let (header, card) = sheet(json)?;
                (header, Body::Character(Box::new(character(card)?)))
            }
        })
    }
}

/// A Markdown file of ours as one JSON object.
fn front_matter(text: &str) -> serde_json::Result<String> {
    let no_matter = || serde::de::Error::custom("its front matter does not end");
    let (matter, content) = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .ok_or_else(no_matter)?;
    let mut fields = written(matter).map_or_else(|| edited(matter), Ok)?;
    fields.insert("content".to_owned(), content.into());
    serde_json::to_string(&fields)
}

/// Front matter as we write it.
fn written(matter: &str) -> Option<Fields> {
    let field = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_owned(), serde_json::from_str(value).ok()?))
    };
    matter.lines().map(field).collect()
}

/// Front matter that somebody has written by hand since.
fn edited(matter: &str) -> serde_json::Result<Fields> {
    serde_saphyr::from_str(matter).map_err(serde::de::Error::custom)
}

/// A file in the same folder; links may lead out of it, and are not followed.
fn beside(file: &SourceFile, name: &str) -> Result<SourceFile, ImportError> {
    let path = file.path.with_file_name(name);
    let refused = || ImportError::NotAFile { path: path.clone() };
    let is_name = Path::new(name).file_name().is_some_and(|last| last == name);
    let about = fs::symlink_metadata(&path);
    if !is_name || about.as_ref().is_ok_and(|about| !about.is_file()) {
        return Err(refused());
    }
    SourceFile::open(&path, file.root.as_deref())
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{
        ChatDraft, Cue, KeptMedia, MediaDraft, MessageDraft, NoteDraft, PromptDraft, StoredChunk,
        Timestamp, Transcript,
    };

    use super::*;

    fn drafts() -> Vec<Draft> {
        let when = Timestamp::parse("2026-01-02T03:04:05.678Z").ok();
        let awkward = "---\ntitle: \"x\"\n---\n\n\r\n# A: b\u{2028}\u{7f} \\ \"q\"\n---\nend";
        let tags = vec!["a, b".to_owned(), "ü: #".to_owned()];
        let note = NoteDraft {
            title: "A: \"b\"\n- c\u{85}".to_owned(),
            content: awkward.to_owned(),
            tags: tags.clone(),
            created_at: when,
            modified_at: when,
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
        let kept = Some(KeptMedia { chunks: vec![chunk], length: Some(3), ..KeptMedia::default() });
        let recording = MediaDraft { transcript, kept: kept.clone(), ..media.clone() };
        let media = MediaDraft { kept, ..media };
        [
            Body::Note(note),
            Body::Media(media),
            Body::Media(recording),
            Body::Chat(ChatDraft { messages: vec![message], ..ChatDraft::default() }),
            Body::Character(Box::new(character)),
            Body::Prompt(prompt),
        ]
        .map(|body| Draft::stored("7", body))
        .into()
    }

    /// The files of a draft in a folder, and the first of them, which is read.
    fn put(folder: &Path, draft: Draft) -> std::path::PathBuf {
        let files = write(draft, "item").unwrap();
        for (name, bytes) in &files {
            fs::write(folder.join(name), bytes).unwrap();
        }
        folder.join(&files[0].0)
    }

    #[test]
    fn what_was_written_is_read_as_it_was() {
        for draft in drafts() {
            let folder = tempfile::tempdir().unwrap();
            let path = put(folder.path(), draft.clone());
            let source = draft.body.source();
            let glance = Glance::take(&path, None).unwrap();
            assert!(is_ours(&glance), "{source}");
            for other in SourceName::ALL {
                let fit = Exported(other).recognise(&glance);
                assert_eq!(fit, Fit::Content.when(other == source), "{source} as {other}");
            }
            let file = SourceFile::open(&path, None).unwrap();
            let read = Exported(source).read(&file).unwrap().drafts.remove(0);
            let expected = Draft { digest: read.digest.clone(), ..draft };
            assert_eq!(format!("{read:?}"), format!("{expected:?}"));
        }
    }

    #[test]
    fn a_character_is_a_card_for_others_and_its_picture_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = put(folder.path(), drafts().remove(4));
        let card = super::super::card::character(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(card.name, "Ada");
        assert!(card.extensions.contains_key("character_book"));
        assert!(is_ours(&Glance::take(&folder.path().join("item.gif"), None).unwrap()));
        fs::remove_file(folder.path().join("item.gif")).unwrap();
        let read = |path: &Path| {
            let file = SourceFile::open(path, None).unwrap();
            Exported(SourceName::Characters).read(&file).unwrap_err().to_string()
        };
        assert!(read(&path).contains("item.gif"), "what is missing is named");
        let text = fs::read_to_string(&path).unwrap().replace("item.gif", "../item.gif");
        fs::write(&path, text).unwrap();
        assert!(read(&path).contains("not a regular file"));
    }

    #[test]
    fn front_matter_that_was_edited_by_hand_is_yaml() {
        let text = "---\nvademecum: {\"format\": 1, \"source\": \"notes\", \"id\": \"7\", \"origin\": \"o\"}\n\
                    title: My note\ntags:\n  - a\n  - b\n---\nText.\n";
        let file = SourceFile::example("/a.md", text);
        let draft = Exported(SourceName::Notes).read(&file).unwrap().drafts.remove(0);
        let Body::Note(note) = draft.body else { panic!("not a note") };
        assert_eq!((note.title.as_str(), note.tags.len()), ("My note", 2));
        assert_eq!(note.content, "Text.\n");
    }

    #[test]
    fn what_a_newer_program_wrote_or_is_broken_is_refused_with_the_reason() {
        let refused = |source, text: &str| {
            let file = SourceFile::example("/a.md", text);
            Exported(source).read(&file).unwrap_err().to_string()
        };
        let newer =
            r#"{"vademecum": {"format": 2, "source": "prompts", "id": "1", "origin": "o"}}"#;
        assert!(refused(SourceName::Prompts, newer).contains("newer program"));
        assert!(refused(SourceName::Notes, "---\nvademecum: {}\n").contains("does not end"));
        assert!(refused(SourceName::Chats, "{\"vademecum\": {}}").contains("missing field"));
    }
}
