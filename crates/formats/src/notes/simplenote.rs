//! Notes of Simplenote: `notes.json`, also in the ZIP archive of the export.

use serde_json::Value;
use vademecum_model::{NoteDraft, SourceName};

use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime, decode_text,
        json::{list_at, parse_entry, text_at, texts_at},
        keywords::{distinct_keywords, inline_tags},
    },
};

/// Notes of Simplenote.
#[derive(Debug)]
pub(crate) struct Simplenote;

impl Format for Simplenote {
    fn id(&self) -> &'static str {
        "simplenote"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "notes of Simplenote (notes.json, the export's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.packs("source/notes.json") || sample.is_json_with(&["activeNotes"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        // The archive has each note as a text too.
        let packed = if input.is_zip() {
            input.unpack(|name| name.ends_with("source/notes.json"))?
        } else {
            Vec::new()
        };
        let bytes = packed.first().map_or(input.bytes, |file| file.bytes.as_slice());
        let text = decode_text(bytes, None)?;
        let export: Value = parse_entry(&text).map_err(FormatError::new)?;
        let mut parsed = ParsedFormat::default();
        for note in list_at(&export, "/activeNotes") {
            let content = text_at(note, "/content");
            if content.trim().is_empty() {
                parsed.add_problem(format!("note `{}`", text_at(note, "/id")), "it has no text");
                continue;
            }
            let tags = texts_at(note, "/tags").into_iter().chain(inline_tags(content));
            let draft = NoteDraft {
                content: content.replace("\r\n", "\n"),
                tags: distinct_keywords(tags),
                created_at: datetime::parse_text(text_at(note, "/creationDate")),
                modified_at: datetime::parse_text(text_at(note, "/lastModified")),
                ..NoteDraft::default()
            };
            parsed.add_note(format!("simplenote:{}", text_at(note, "/id")), draft, &input.stem());
        }
        let trashed = list_at(&export, "/trashedNotes").len();
        parsed.add_count(trashed, "note", "in the trash of Simplenote");
        parsed.or_empty("it has no notes")
    }
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    const NOTES: &str = r#"{"activeNotes": [{"id": "n1", "content": "Rye\r\nKnead. #slow",
        "creationDate": "2026-01-05T10:00:00.000Z", "lastModified": "2026-01-06T10:00:00.000Z",
        "tags": ["bread"], "markdown": true}, {"id": "n2", "content": " "}],
        "trashedNotes": [{"id": "n3", "content": "Old"}]}"#;

    #[test]
    fn note_keeps_title_tags_and_dates() {
        let zip = zip_archive(&[("source/notes.json", NOTES.as_bytes()), ("Rye.txt", b"Rye")]);
        for bytes in [NOTES.as_bytes(), &zip] {
            assert!(detects(&Simplenote, "/a.zip", bytes));
            let parsed = parse(&Simplenote, "/a.zip", bytes);
            assert_eq!(parsed.drafts[0].origin, "simplenote:n1");
            let note = notes(&parsed)[0];
            assert_eq!((note.title.as_str(), note.content.as_str()), ("Rye", "Rye\nKnead. #slow"));
            assert_eq!(note.tags, ["bread", "slow"]);
            assert_eq!(note.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
            assert_eq!(note.modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
            let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
            assert_eq!(
                problems,
                ["note `n2`: it has no text", "1 note: in the trash of Simplenote"]
            );
        }
        assert!(try_parse(&Simplenote, "/a.json", "{}").is_err());
    }
}
