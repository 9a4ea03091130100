//! Notes exported as web pages, by Apple Notes or Evernote for example. A page may be anything, so
//! it becomes a note only if the user chose that source.

use vademecum_model::{NoteDraft, SourceName};

use super::note_draft::note_draft;
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    documents::html,
    text::{keywords::distinct_keywords, title::clean_title},
};

/// Version of the importer; increment when the same page produces a different note.
const VERSION: &str = "html-notes/3";

/// Importer of web pages as notes.
#[derive(Debug)]
pub(crate) struct HtmlNoteImporter;

impl Importer for HtmlNoteImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "notes as web pages (.html)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let is_page = probe.has_extension(&["html", "htm"]);
        // Google Keep writes each note as HTML and as JSON.
        let is_copy = || probe.neighbours().has(&probe.path().with_extension("json"));
        Confidence::Possible.when(is_page && !is_copy())
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let page = html::read_page(file)?;
        if page.content.trim().is_empty() {
            return Err(ImportError::NoText { path: file.path.clone() });
        }
        let note = NoteDraft {
            title: clean_title(&page.title).unwrap_or_else(|| file.file_stem()),
            content: page.content,
            tags: distinct_keywords(page.tags),
            created_at: page.created_at,
            modified_at: page.modified_at,
            ..NoteDraft::default()
        };
        let note = file.name_note(note, Vec::new());
        Ok(note_draft(VERSION, file, note).into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use vademecum_model::DraftBody;

    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    #[test]
    fn note_consists_of_page_text() {
        let page = "<html><head><title>Rye</title></head><body><div>Knead.</div></body></html>";
        let reading = HtmlNoteImporter.parse(&SourceFile::in_memory("/a.html", page)).unwrap();
        let DraftBody::Note(note) = &reading.drafts[0].body else { panic!("no note") };
        assert_eq!((note.title.as_str(), note.content.trim()), ("Rye", "Knead."));
        let empty = HtmlNoteImporter.parse(&SourceFile::in_memory("/a.html", "<p> </p>"));
        assert!(matches!(empty, Err(ImportError::NoText { .. })));
    }

    #[test]
    fn page_is_note_only_on_request_and_once() {
        assert_eq!(HtmlNoteImporter.detect(&probe_file("a.html", "<p>")), Confidence::Possible);
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("a.html");
        fs::write(&page, "<p>").unwrap();
        fs::write(folder.path().join("a.json"), "{}").unwrap();
        assert_eq!(
            HtmlNoteImporter.detect(&FileProbe::open(&page, None).unwrap()),
            Confidence::NoMatch
        );
    }
}
