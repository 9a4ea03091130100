//! Documents that were read up to a page, because parsing stopped at its time limit.

use rusqlite::{Row, named_params, types::Type};
use serde::de::DeserializeOwned;
use vademecum_model::{Draft, DraftBody, Heading};
use vademecum_store::{StoreError, Writer};

use super::entry::{LedgerEntry, path_text, source_column};
use crate::{ParsedFile, Problem, documents::document::MAX_TEXT_BYTES};

/// Deletes the part of a document that was read.
const DELETE_SQL: &str = "DELETE FROM partial_documents WHERE path = :path AND asked = :asked";
/// Inserts the part of a document that was read.
const INSERT_SQL: &str = "INSERT INTO partial_documents (path, asked, digest, read_pages, draft, problems) \
     VALUES (:path, :asked, :digest, :read_pages, :draft, :problems)";
/// Selects the part of a document that was read.
pub(super) const SELECT_SQL: &str = "SELECT digest, read_pages, draft, problems FROM partial_documents \
     WHERE path = :path AND asked = :asked";

/// Maximum number of pages that are left out because each takes longer than the longest time.
const MAX_SLOW_PAGES: usize = 8;
/// Reason why a page was left out.
const SLOW_PAGE: &str = "reading it takes too long";

/// The part of a document that was read.
#[derive(Clone, Debug)]
pub struct PartialDocument {
    /// Digest of the content of the file.
    pub digest: String,
    /// Number of pages that were read.
    pub read_pages: u32,
    /// The document with these pages.
    pub draft: Draft,
    /// Problems of these pages.
    pub problems: Vec<Problem>,
}

impl PartialDocument {
    /// Returns the document of a file that was read up to a page; `None` if it was not.
    pub fn of(parsed: &ParsedFile, digest: Option<&str>) -> Option<Self> {
        let (true, read_pages @ 1.., [draft], Some(digest)) =
            (parsed.is_cut, parsed.read_pages, parsed.drafts.as_slice(), digest)
        else {
            return None;
        };
        let (draft, problems) = (draft.clone(), parsed.problems.clone());
        Some(Self { digest: digest.to_owned(), read_pages, draft, problems })
    }

    /// Returns the document with what another reading found after its pages.
    pub fn continue_with(self, next: ParsedFile) -> ParsedFile {
        let Self { read_pages, mut draft, mut problems, .. } = self;
        let has_progressed = !next.is_cut || next.read_pages > read_pages;
        let mut is_cut = next.is_cut;
        for problem in next.problems {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        if has_progressed
            && let [next] = next.drafts.as_slice()
            && !append(&mut draft, next)
        {
            is_cut = false;
            problems.push(Problem {
                place: format!("page {} and what follows", read_pages + 1),
                reason: format!("the document has more than {MAX_TEXT_BYTES} bytes of text"),
            });
        }
        let read_pages = if is_cut { next.read_pages } else { 0 };
        ParsedFile { drafts: vec![draft], problems, is_cut, read_pages, versions: None, tail: None }
    }

    /// Returns the document without the page that follows: it takes too long. After some such pages,
    /// reading ends.
    pub fn leave_out_page(self) -> ParsedFile {
        let Self { read_pages, draft, mut problems, .. } = self;
        let slow = problems.iter().filter(|problem| problem.reason == SLOW_PAGE).count();
        let is_cut = slow + 1 < MAX_SLOW_PAGES;
        let page = read_pages + 1;
        let place =
            if is_cut { format!("page {page}") } else { format!("page {page} and what follows") };
        problems.push(Problem { place, reason: SLOW_PAGE.to_owned() });
        let read_pages = if is_cut { page } else { 0 };
        ParsedFile { drafts: vec![draft], problems, is_cut, read_pages, versions: None, tail: None }
    }

    /// Returns the document as it is, with the reason why the rest cannot be read.
    pub fn end(self, reason: String) -> ParsedFile {
        let Self { read_pages, draft, mut problems, .. } = self;
        let place = format!("page {} and what follows", read_pages + 1);
        problems.push(Problem { place, reason });
        ParsedFile { drafts: vec![draft], problems, ..ParsedFile::default() }
    }

    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            digest: row.get("digest")?,
            read_pages: row.get("read_pages")?,
            draft: parse_json(row, "draft")?,
            problems: parse_json(row, "problems")?,
        })
    }

    /// Replaces the stored part of the document of a file.
    pub(super) fn replace(
        writer: &Writer<'_>,
        entry: &LedgerEntry,
        partial: Option<&Self>,
    ) -> Result<(), StoreError> {
        let (path, asked) = (path_text(&entry.path), source_column(entry.asked));
        writer.execute(DELETE_SQL, named_params! { ":path": path, ":asked": asked })?;
        if let Some(Self { digest, read_pages, draft, problems }) = partial {
            writer.execute(
                INSERT_SQL,
                named_params! {
                    ":path": path,
                    ":asked": asked,
                    ":digest": digest,
                    ":read_pages": read_pages,
                    ":draft": serde_json::json!(draft).to_string(),
                    ":problems": serde_json::json!(problems).to_string(),
                },
            )?;
        }
        Ok(())
    }
}

/// Appends the text and the headings of a document to those of another, which gets its digest. Returns `false`
/// if the text would be too long.
fn append(draft: &mut Draft, next: &Draft) -> bool {
    let (DraftBody::Media(document), DraftBody::Media(rest)) = (&mut draft.body, &next.body) else {
        return false;
    };
    if document.content.len() + rest.content.len() > MAX_TEXT_BYTES {
        return false;
    }
    if !document.content.is_empty() && !rest.content.is_empty() {
        document.content.push_str("\n\n");
    }
    let begin = document.content.len();
    document.content.push_str(&rest.content);
    let moved = |heading: &Heading| Heading { at: begin + heading.at, ..heading.clone() };
    document.headings.extend(rest.headings.iter().map(moved));
    document.former_digest.clone_from(&rest.former_digest);
    document.is_part = rest.is_part;
    draft.digest.clone_from(&next.digest);
    true
}

fn parse_json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> rusqlite::Result<T> {
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(|error| {
        let index = row.as_ref().column_index(column).unwrap_or(0);
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
    })
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use vademecum_model::MediaDraft;
    use vademecum_store::{Database, Store};

    use super::*;
    use crate::{Ledger, ledger::entry::tests::imported_entry};

    fn partial(read_pages: u32) -> PartialDocument {
        let body = DraftBody::Media(MediaDraft { content: "Rye.".into(), ..MediaDraft::default() });
        let draft = Draft { origin: "file:/a.pdf".into(), digest: "part".into(), id: None, body };
        PartialDocument { digest: "1".into(), read_pages, draft, problems: Vec::new() }
    }

    #[test]
    fn slow_pages_are_left_out_until_too_many() {
        let mut next = partial(64);
        for left_out in 1..MAX_SLOW_PAGES {
            let parsed = next.leave_out_page();
            assert_eq!(parsed.problems.len(), left_out);
            assert_eq!((parsed.is_cut, parsed.drafts[0].digest.as_str()), (true, "part"));
            next = PartialDocument::of(&parsed, Some("1")).unwrap();
        }
        assert_eq!(next.problems[0].place, "page 65");
        let parsed = next.leave_out_page();
        assert!(!parsed.is_cut);
        assert_eq!(parsed.problems.last().unwrap().place, "page 72 and what follows");
    }

    #[test]
    fn file_without_progress_keeps_its_pages() {
        let stuck = ParsedFile { is_cut: true, read_pages: 64, ..ParsedFile::default() };
        let parsed = partial(64).continue_with(stuck);
        assert_eq!((parsed.is_cut, parsed.read_pages), (true, 64));
        let DraftBody::Media(document) = &parsed.drafts[0].body else { panic!("no document") };
        assert_eq!(document.content, "Rye.");
        let parsed = partial(64).end("it crashed the reader".to_owned());
        assert_eq!((parsed.is_cut, parsed.drafts.len()), (false, 1));
        assert_eq!(parsed.problems[0].place, "page 65 and what follows");
    }

    #[test]
    fn too_long_text_is_not_appended() {
        let body = DraftBody::Media(MediaDraft {
            content: "x".repeat(MAX_TEXT_BYTES),
            ..MediaDraft::default()
        });
        let next = Draft { origin: String::new(), digest: "whole".into(), id: None, body };
        let parsed = partial(64).continue_with(next.into());
        assert!(parsed.problems[0].reason.contains("bytes of text"), "{:?}", parsed.problems);
        assert_eq!(parsed.drafts[0].digest, "part");
    }

    #[test]
    fn part_is_stored_with_entry_and_forgotten_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(Arc::new(Store::new(Database::Imports, folder.path())));
        let mut entry = imported_entry("/a.pdf");
        entry.mark_cut(30, 64);
        entry.partial = Some(partial(64));
        ledger.record_entries(&[entry.clone()], &[]).unwrap();
        let known = ledger.entries_below(Path::new("/a.pdf")).unwrap().remove(0);
        assert_eq!((known.read_pages, ledger.all_entries().unwrap()[0].read_pages), (64, 64));
        let stored = ledger.partial_document(&known).unwrap().unwrap();
        assert_eq!((stored.digest.as_str(), stored.draft.digest.as_str()), ("1", "part"));
        ledger.record_entries(&[], std::slice::from_ref(&known)).unwrap();
        assert!(ledger.partial_document(&known).unwrap().is_none());
        ledger.record_entries(&[entry], &[]).unwrap();
        ledger.record_entries(&[imported_entry("/a.pdf")], &[]).unwrap();
        assert!(ledger.partial_document(&known).unwrap().is_none(), "it was read to its end");
        let mut refused = known.clone();
        refused.partial = Some(partial(64));
        refused.read_again();
        ledger.record_entries(&[refused], &[]).unwrap();
        assert!(ledger.partial_document(&known).unwrap().is_none(), "the library has no room");
    }
}
