//! Notes of Google Keep, as Takeout writes them: a JSON file for each, in a
//! folder or in the archive.

use std::path::Path;

use serde::Deserialize;
use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName, Timestamp};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    archive::Archive,
    digest::digest,
    file::ends_in,
    json::entry,
    keywords::{distinct, inline_tags},
    title::title,
};

/// Goes up when the same note makes another draft than before.
const VERSION: &str = "keep/1";

/// Reads Keep's notes.
#[derive(Debug)]
pub(super) struct Keep;

impl Importer for Keep {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format(&self) -> &'static str {
        "notes of Google Keep (.json, Takeout's .zip)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let is_note = opening.starts_with('{')
            && opening.contains("\"isTrashed\"")
            && opening.contains("\"userEditedTimestampUsec\"");
        let is_packed = || glance.entries().iter().any(|name| is_packed_note(name));
        // A long note may tell what it is only at its end.
        let may_be = opening.starts_with('{')
            && (opening.contains("\"textContent\"") || opening.contains("\"listContent\""));
        Fit::Content.when(is_note || is_packed()).max(Fit::Name.when(may_be))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let mut reading = Reading::default();
        if !file.bytes.starts_with(b"PK\x03\x04") {
            let text = file.text()?;
            reading.keep("the note".to_owned(), &file.stem(), text.as_bytes());
            return Ok(reading);
        }
        let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
        let mut archive = Archive::open(&file.bytes).map_err(refused)?;
        for name in archive.names().into_iter().filter(|name| is_packed_note(name)) {
            if let Some(bytes) = archive.unpack(&name).map_err(refused)? {
                reading.keep(name.clone(), stem(&name), &bytes);
            }
        }
        Ok(reading)
    }
}

/// Whether that is a note in an archive of Takeout, whose folders are called
/// as the user's language has it, but for `Keep`.
fn is_packed_note(name: &str) -> bool {
    let mut parts = name.rsplit('/');
    let is_json = parts.next().is_some_and(|name| ends_in(Path::new(name), &["json"]));
    is_json && parts.next().is_some_and(|folder| folder == "Keep")
}

fn stem(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_suffix(".json").unwrap_or(name)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    title: Option<String>,
    text_content: Option<String>,
    list_content: Option<Vec<Entry>>,
    labels: Option<Vec<Label>>,
    annotations: Option<Vec<Annotation>>,
    attachments: Option<Vec<Attachment>>,
    is_trashed: Option<bool>,
    created_timestamp_usec: Option<i64>,
    user_edited_timestamp_usec: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    text: Option<String>,
    is_checked: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Label {
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Annotation {
    title: Option<String>,
    url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment {
    file_path: Option<String>,
}

impl Reading {
    /// Adds a note, which lies under that name, unless it was thrown away.
    fn keep(&mut self, place: String, stem: &str, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string());
        let note = text.and_then(|text| entry::<Note>(text.trim_start_matches('\u{feff}')));
        let note = match note {
            Ok(note) => note,
            Err(reason) => {
                let reason = format!("it is no note of Google Keep: {reason}");
                return self.problems.push(Problem { place, reason });
            }
        };
        if note.is_trashed == Some(true) {
            let reason = "it was thrown away in Google Keep".to_owned();
            return self.problems.push(Problem { place, reason });
        }
        let content = note.content();
        let named = note.title.as_deref().and_then(title);
        if content.is_empty() && named.is_none() {
            let reason = "it has neither a title nor a text".to_owned();
            return self.problems.push(Problem { place, reason });
        }
        let labels = note.labels.iter().flatten().filter_map(|label| label.name.clone());
        // Notes that were brought into Keep together may share a moment.
        let origin = match note.created_timestamp_usec {
            Some(created) => format!("google-keep:{created}/{stem}"),
            None => format!("google-keep:{stem}"),
        };
        let draft = NoteDraft {
            title: named
                .or_else(|| title(content.lines().next().unwrap_or_default()))
                .unwrap_or_else(|| stem.to_owned()),
            tags: distinct(labels.chain(inline_tags(&content))),
            created_at: note.created_timestamp_usec.and_then(moment),
            modified_at: note.user_edited_timestamp_usec.and_then(moment),
            content,
        };
        let edited = draft.modified_at.map(|it| it.to_string()).unwrap_or_default();
        let tags = draft.tags.join("\n");
        let parts = [&draft.title, &draft.content, &tags, &edited].map(String::as_bytes);
        let digest = digest(VERSION, parts);
        self.drafts.push(Draft { origin, digest, id: None, body: Body::Note(draft) });
    }
}

impl Note {
    /// The text, the list with what is done, the pages it names, and the names
    /// of what is attached.
    fn content(&self) -> String {
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
fn moment(microseconds: i64) -> Option<Timestamp> {
    Timestamp::from_unix_seconds(microseconds as f64 / 1e6).filter(|_| microseconds > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glance::tests::{glance, packed};

    const TEXT: &str = r#"{"title": "Rye", "textContent": "Knead. #dough\n", "isTrashed": false,
        "isArchived": true, "labels": [{"name": "Baking"}], "createdTimestampUsec": 1704465012000000,
        "userEditedTimestampUsec": 1704465013000000, "attachments": [{"filePath": "a.jpg"}],
        "annotations": [{"title": "Mill", "url": "https://example.org", "source": "WEBLINK"}]}"#;
    const LIST: &str = r#"{"title": "", "listContent": [{"text": "flour", "isChecked": true},
        {"text": "salt", "isChecked": false}], "isTrashed": false, "userEditedTimestampUsec": 0}"#;
    const TRASHED: &str =
        r#"{"title": "Old", "textContent": "x", "isTrashed": true, "userEditedTimestampUsec": 1}"#;

    fn read(name: &str, bytes: impl Into<Vec<u8>>) -> (Vec<(String, NoteDraft)>, Vec<Problem>) {
        let reading = Keep.read(&SourceFile::example(name, bytes)).unwrap();
        let notes = reading.drafts.into_iter().map(|draft| match draft.body {
            Body::Note(note) => (draft.origin, note),
            _ => panic!("no note"),
        });
        (notes.collect(), reading.problems)
    }

    #[test]
    fn a_note_keeps_its_text_labels_and_times() {
        let (origin, note) = read("/Keep/Rye.json", TEXT).0.remove(0);
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
        let (_, list) = read("/Keep/x.json", LIST).0.remove(0);
        assert_eq!(
            (list.content.as_str(), list.title.as_str()),
            ("- [x] flour\n- [ ] salt", "- [x] flour")
        );
        assert_eq!((list.created_at, list.modified_at), (None, None));
    }

    #[test]
    fn what_was_thrown_away_or_says_nothing_is_named() {
        let reason = |text: &str| read("/x.json", text).1.remove(0).reason;
        assert_eq!(reason(TRASHED), "it was thrown away in Google Keep");
        assert_eq!(reason(r#"{"textContent": ""}"#), "it has neither a title nor a text");
        assert!(reason("[").starts_with("it is no note of Google Keep"));
    }

    #[test]
    fn notes_are_read_out_of_the_archive() {
        let zip = packed(&[
            ("Takeout/Keep/Rye.json", TEXT.as_bytes()),
            ("Takeout/Keep/Rye.html", b"<p>Rye"),
            ("Takeout/Keep/bad.json", b"7"),
            ("Takeout/Drive/x.json", b"{}"),
        ]);
        assert_eq!(Keep.recognise(&glance("takeout.zip", &zip)), Fit::Content);
        let (notes, problems) = read("/takeout.zip", zip);
        assert_eq!(notes[0].0, "google-keep:1704465012000000/Rye");
        assert_eq!((notes.len(), problems[0].place.as_str()), (1, "Takeout/Keep/bad.json"));
        assert_eq!(Keep.recognise(&glance("x.json", TEXT)), Fit::Content);
        assert_eq!(Keep.recognise(&glance("x.json", "{}")), Fit::No);
    }
}
