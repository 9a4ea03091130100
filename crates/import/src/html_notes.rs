//! Notes that a program gives away as web pages: Apple Notes, Evernote. A page
//! may be anything, so it is a note only for who says so.

use vademecum_kit::model::{Body, Draft, NoteDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, digest::digest, keywords::distinct,
    media::html, title::title,
};

/// Goes up when the same page makes another note than before.
const VERSION: &str = "html-notes/1";

/// Reads such notes.
#[derive(Debug)]
pub(super) struct HtmlNotes;

impl Importer for HtmlNotes {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format(&self) -> &'static str {
        "notes as web pages (.html)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let is_page = glance.ends_in(&["html", "htm"]);
        // Google Keep writes each note twice.
        let is_copy = || glance.path().with_extension("json").is_file();
        Fit::Maybe.when(is_page && !is_copy())
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let page = html::document(file)?;
        if page.content.trim().is_empty() {
            return Err(ImportError::Empty { path: file.path.clone() });
        }
        let note = NoteDraft {
            title: title(&page.title).unwrap_or_else(|| file.stem()),
            content: page.content,
            tags: distinct(page.tags),
            created_at: None,
            modified_at: page.modified_at,
        };
        let digest = digest(VERSION, [file.bytes.as_slice()]);
        Ok(Draft { origin: file.origin(), digest, id: None, body: Body::Note(note) }.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::glance::tests::glance;

    #[test]
    fn a_page_is_a_note_by_its_text() {
        let page = "<html><head><title>Rye</title></head><body><div>Knead.</div></body></html>";
        let reading = HtmlNotes.read(&SourceFile::example("/a.html", page)).unwrap();
        let Body::Note(note) = &reading.drafts[0].body else { panic!("no note") };
        assert_eq!((note.title.as_str(), note.content.trim()), ("Rye", "Knead."));
        let empty = HtmlNotes.read(&SourceFile::example("/a.html", "<p> </p>"));
        assert!(matches!(empty, Err(ImportError::Empty { .. })));
    }

    #[test]
    fn a_page_is_a_note_only_for_who_says_so_and_once() {
        assert_eq!(HtmlNotes.recognise(&glance("a.html", "<p>")), Fit::Maybe);
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("a.html");
        fs::write(&page, "<p>").unwrap();
        fs::write(folder.path().join("a.json"), "{}").unwrap();
        assert_eq!(HtmlNotes.recognise(&Glance::take(&page, None).unwrap()), Fit::No);
    }
}
