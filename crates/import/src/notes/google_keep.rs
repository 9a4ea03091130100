//! Notes of Google Keep as exported by Takeout: one JSON file per note, in a folder or an archive.

use std::path::Path;

use serde::Deserialize;
use vademecum_model::{Draft, DraftBody, NoteDraft, SourceName, Timestamp};

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile, digest,
    files::{archive::Archive, source_file::has_extension},
    text::{
        json::parse_entry,
        keywords::{distinct_keywords, inline_tags},
        title::clean_title,
    },
};

/// Version of the importer; increment when the same note produces a different draft.
const VERSION: &str = "keep/1";

/// Importer of Google Keep notes.
#[derive(Debug)]
pub(crate) struct KeepImporter;

impl Importer for KeepImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "notes of Google Keep (.json, Takeout's .zip)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let is_note = opening.starts_with('{')
            && opening.contains("\"isTrashed\"")
            && opening.contains("\"userEditedTimestampUsec\"");
        let is_packed = || probe.entries().iter().any(|name| is_packed_note(name));
        // A long note may have its identifying fields beyond the bytes that are probed.
        let may_be = opening.starts_with('{')
            && (opening.contains("\"textContent\"") || opening.contains("\"listContent\""));
        Confidence::ByContent.when(is_note || is_packed()).max(Confidence::ByName.when(may_be))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let mut reading = ParsedFile::default();
        if !file.bytes.starts_with(b"PK\x03\x04") {
            let text = file.text()?;
            reading.add_keep_note("the note".to_owned(), &file.file_stem(), text.as_bytes());
            return Ok(reading);
        }
        let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
        let mut archive = Archive::open(&file.bytes).map_err(refused)?;
        for name in archive.file_names().into_iter().filter(|name| is_packed_note(name)) {
            if let Some(bytes) = archive.unpack_file(&name).map_err(refused)? {
                reading.add_keep_note(name.clone(), entry_stem(&name), &bytes);
            }
        }
        Ok(reading)
    }
}

/// Returns `true` for a note in a Takeout archive. Its folder is named `Keep` in every language;
/// other folder names are translated.
fn is_packed_note(name: &str) -> bool {
    let mut parts = name.rsplit('/');
    let is_json = parts.next().is_some_and(|name| has_extension(Path::new(name), &["json"]));
    is_json && parts.next().is_some_and(|folder| folder == "Keep")
}

fn entry_stem(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_suffix(".json").unwrap_or(name)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeepNote {
    title: Option<String>,
    text_content: Option<String>,
    list_content: Option<Vec<KeepListItem>>,
    labels: Option<Vec<KeepLabel>>,
    annotations: Option<Vec<KeepAnnotation>>,
    attachments: Option<Vec<KeepAttachment>>,
    is_trashed: Option<bool>,
    created_timestamp_usec: Option<i64>,
    user_edited_timestamp_usec: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeepListItem {
    text: Option<String>,
    is_checked: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct KeepLabel {
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct KeepAnnotation {
    title: Option<String>,
    url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeepAttachment {
    file_path: Option<String>,
}

impl ParsedFile {
    /// Adds a note. A note in the trash, without content or invalid becomes a problem.
    fn add_keep_note(&mut self, place: String, stem: &str, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string());
        let note =
            text.and_then(|text| parse_entry::<KeepNote>(text.trim_start_matches('\u{feff}')));
        let note = match note {
            Ok(note) => note,
            Err(reason) => {
                let reason = format!("it is not a Google Keep note: {reason}");
                return self.problems.push(Problem { place, reason });
            }
        };
        if note.is_trashed == Some(true) {
            let reason = "it is in the trash of Google Keep".to_owned();
            return self.problems.push(Problem { place, reason });
        }
        let content = note.to_markdown();
        let named = note.title.as_deref().and_then(clean_title);
        if content.is_empty() && named.is_none() {
            let reason = "it has neither a title nor a text".to_owned();
            return self.problems.push(Problem { place, reason });
        }
        let labels = note.labels.iter().flatten().filter_map(|label| label.name.clone());
        // Notes imported into Keep together may have the same creation time.
        let origin = match note.created_timestamp_usec {
            Some(created) => format!("google-keep:{created}/{stem}"),
            None => format!("google-keep:{stem}"),
        };
        let draft = NoteDraft {
            title: named
                .or_else(|| clean_title(content.lines().next().unwrap_or_default()))
                .unwrap_or_else(|| stem.to_owned()),
            tags: distinct_keywords(labels.chain(inline_tags(&content))),
            created_at: note.created_timestamp_usec.and_then(from_unix_micros),
            modified_at: note.user_edited_timestamp_usec.and_then(from_unix_micros),
            content,
            ..NoteDraft::default()
        };
        let edited = draft.modified_at.map(|it| it.to_string()).unwrap_or_default();
        let tags = draft.tags.join("\n");
        let parts = [&draft.title, &draft.content, &tags, &edited].map(String::as_bytes);
        let digest = digest(VERSION, parts);
        self.drafts.push(Draft { origin, digest, id: None, body: DraftBody::Note(draft) });
    }
}

impl KeepNote {
    /// Returns the note as Markdown: its text, its list as tasks, its links, and the names of
    /// attachments.
    fn to_markdown(&self) -> String {
        let text = self.text_content.iter().map(|text| text.trim_end().to_owned());
        let entries = self.list_content.iter().flatten().filter_map(|entry| {
            let mark = if entry.is_checked == Some(true) { 'x' } else { ' ' };
            entry.text.as_ref().map(|text| format!("- [{mark}] {text}"))
        });
        let list = entries.collect::<Vec<_>>().join("\n");
        let pages = self.annotations.iter().flatten().filter_map(|page| {
            let url = page.url.as_ref().filter(|url| !url.is_empty())?;
            let title = page.title.as_deref().unwrap_or_default();
            Some(format!("{title} {url}").trim().to_owned())
        });
        let attached = self.attachments.iter().flatten();
        let attached =
            attached.filter_map(|it| Some(format!("[attachment: {}]", it.file_path.as_ref()?)));
        let parts = text.chain([list]).chain(pages).chain(attached);
        parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

#[expect(clippy::cast_precision_loss, reason = "microseconds up to year 2255 are below 2^53")]
fn from_unix_micros(microseconds: i64) -> Option<Timestamp> {
    Timestamp::from_unix_seconds(microseconds as f64 / 1e6).filter(|_| microseconds > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::file_probe::tests::{probe_file, zip_archive};

    const TEXT: &str = r#"{"title": "Rye", "textContent": "Knead. #dough\n", "isTrashed": false,
        "isArchived": true, "labels": [{"name": "Baking"}], "createdTimestampUsec": 1704465012000000,
        "userEditedTimestampUsec": 1704465013000000, "attachments": [{"filePath": "a.jpg"}],
        "annotations": [{"title": "Mill", "url": "https://example.org", "source": "WEBLINK"}]}"#;
    const LIST: &str = r#"{"title": "", "listContent": [{"text": "flour", "isChecked": true},
        {"text": "salt", "isChecked": false}], "isTrashed": false, "userEditedTimestampUsec": 0}"#;
    const TRASHED: &str =
        r#"{"title": "Old", "textContent": "x", "isTrashed": true, "userEditedTimestampUsec": 1}"#;

    fn read_notes(
        name: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> (Vec<(String, NoteDraft)>, Vec<Problem>) {
        let reading = KeepImporter.parse(&SourceFile::in_memory(name, bytes)).unwrap();
        let notes = reading.drafts.into_iter().map(|draft| match draft.body {
            DraftBody::Note(note) => (draft.origin, note),
            _ => panic!("no note"),
        });
        (notes.collect(), reading.problems)
    }

    #[test]
    fn keep_note_has_text_labels_and_times() {
        let (origin, note) = read_notes("/Keep/Rye.json", TEXT).0.remove(0);
        assert_eq!(
            (origin.as_str(), note.title.as_str()),
            ("google-keep:1704465012000000/Rye", "Rye")
        );
        assert_eq!(
            note.content,
            "Knead. #dough\n\nMill https://example.org\n\n[attachment: a.jpg]"
        );
        assert_eq!(note.tags, ["Baking", "dough"]);
        assert_eq!(note.created_at.unwrap().to_string(), "2024-01-05T14:30:12.000Z");
        assert_eq!(note.modified_at.unwrap().to_string(), "2024-01-05T14:30:13.000Z");
        let (_, list) = read_notes("/Keep/x.json", LIST).0.remove(0);
        assert_eq!(
            (list.content.as_str(), list.title.as_str()),
            ("- [x] flour\n- [ ] salt", "- [x] flour")
        );
        assert_eq!((list.created_at, list.modified_at), (None, None));
    }

    #[test]
    fn trashed_or_empty_notes_are_reported() {
        let reason = |text: &str| read_notes("/x.json", text).1.remove(0).reason;
        assert_eq!(reason(TRASHED), "it is in the trash of Google Keep");
        assert_eq!(reason(r#"{"textContent": ""}"#), "it has neither a title nor a text");
        assert!(reason("[").starts_with("it is not a Google Keep note"));
    }

    #[test]
    fn notes_are_read_from_archive() {
        let zip = zip_archive(&[
            ("Takeout/Keep/Rye.json", TEXT.as_bytes()),
            ("Takeout/Keep/Rye.html", b"<p>Rye"),
            ("Takeout/Keep/bad.json", b"7"),
            ("Takeout/Drive/x.json", b"{}"),
        ]);
        assert_eq!(KeepImporter.detect(&probe_file("takeout.zip", &zip)), Confidence::ByContent);
        let (notes, problems) = read_notes("/takeout.zip", zip);
        assert_eq!(notes[0].0, "google-keep:1704465012000000/Rye");
        assert_eq!((notes.len(), problems[0].place.as_str()), (1, "Takeout/Keep/bad.json"));
        assert_eq!(KeepImporter.detect(&probe_file("x.json", TEXT)), Confidence::ByContent);
        assert_eq!(KeepImporter.detect(&probe_file("x.json", "{}")), Confidence::NoMatch);
    }
}
