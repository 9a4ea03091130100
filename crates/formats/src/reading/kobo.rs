//! The database of a Kobo reader: highlights and notes of books.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_model::SourceName;

use super::entry::{Highlight, ReadingEntry};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    sqlite_image::{has_table, read_rows},
    text::{
        datetime,
        json::{id_at, text_at},
    },
};

/// Highlights, in the order of the book as far as it is known.
const BOOKMARKS_SQL: &str =
    "SELECT * FROM Bookmark ORDER BY VolumeID, ContentID, ChapterProgress, DateCreated";
/// Books and chapters.
const CONTENT_SQL: &str = "SELECT * FROM content WHERE ContentID IN \
     (SELECT VolumeID FROM Bookmark UNION SELECT ContentID FROM Bookmark)";

/// The database of a Kobo reader.
#[derive(Debug)]
pub(crate) struct Kobo;

impl Format for Kobo {
    fn id(&self) -> &'static str {
        "kobo"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "highlights of a Kobo reader (KoboReader.sqlite)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_database(&["KoboReader.sqlite"], &["Bookmark", "VolumeID", "ContentID"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let database = input.database()?;
        if !has_table(&database, "Bookmark") {
            return Err(FormatError::new("it has no table `Bookmark`"));
        }
        let content = if has_table(&database, "content") {
            read_rows(&database, CONTENT_SQL, None)?
        } else {
            Vec::new()
        };
        let content: BTreeMap<String, Value> =
            content.into_iter().map(|row| (id_at(&row, "/ContentID"), row)).collect();
        let mut books: BTreeMap<String, ReadingEntry> = BTreeMap::new();
        let (mut deleted, mut plain) = (0, 0);
        for row in read_rows(&database, BOOKMARKS_SQL, None)? {
            if ["true", "1"].contains(&id_at(&row, "/Hidden").as_str()) {
                deleted += 1;
                continue;
            }
            let highlight = highlight(&row, &content);
            if highlight.text.trim().is_empty() && highlight.note.trim().is_empty() {
                plain += 1;
                continue;
            }
            let volume = id_at(&row, "/VolumeID");
            let book = books.entry(volume).or_insert_with_key(|id| book(id, content.get(id)));
            let changed = datetime::parse_text(text_at(&row, "/DateModified"));
            book.modified_at = book.modified_at.max(changed).max(highlight.created_at);
            book.highlights.push(highlight);
        }
        let mut parsed = ParsedFormat::default();
        for book in books.into_values() {
            parsed.add_entry(book);
        }
        // Books that were copied to a reader are named by their paths, which other readers have, too.
        parsed.bind_to_file(input);
        parsed.add_count(deleted, "highlight", "deleted on the reader");
        parsed.add_count(plain, "bookmark", "it has no text");
        parsed.or_empty("it has no highlights")
    }
}

fn highlight(row: &Value, content: &BTreeMap<String, Value>) -> Highlight {
    let chapter = content.get(&id_at(row, "/ContentID"));
    let chapter = chapter.map(|row| text_at(row, "/Title")).unwrap_or_default();
    let progress = row.get("ChapterProgress").and_then(Value::as_f64);
    let percent = progress.map(|it| format!("{:.0} %", it.clamp(0.0, 1.0) * 100.0));
    let place = match (chapter, percent) {
        ("", percent) => percent.unwrap_or_default(),
        (chapter, Some(percent)) => format!("{chapter}, {percent}"),
        (chapter, None) => chapter.to_owned(),
    };
    Highlight {
        text: text_at(row, "/Text").to_owned(),
        note: text_at(row, "/Annotation").to_owned(),
        place,
        created_at: datetime::parse_text(text_at(row, "/DateCreated")),
        ..Highlight::default()
    }
}

/// Returns a book without highlights. A book that is no longer on the reader has the name of its file.
fn book(id: &str, row: Option<&Value>) -> ReadingEntry {
    let field = |name: &str| row.map(|row| text_at(row, name)).unwrap_or_default().to_owned();
    let file = id.rsplit('/').next().unwrap_or(id);
    let file = file
        .split_once(".kepub")
        .or_else(|| file.split_once(".epub"))
        .map_or(file, |(stem, _)| stem);
    let title = Some(field("/Title")).filter(|title| !title.trim().is_empty());
    ReadingEntry {
        origin: format!("kobo:{id}"),
        title: title.unwrap_or_else(|| file.to_owned()),
        author: field("/Attribution"),
        media_type: "book",
        fields: vec![
            ("Series", field("/Series")),
            ("Publisher", field("/Publisher")),
            ("ISBN", field("/ISBN")),
        ],
        ..ReadingEntry::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{detects, documents, parse, try_parse},
        sqlite_image::tests::database,
    };

    const SQL: &str = "
        CREATE TABLE Bookmark (BookmarkID TEXT, VolumeID TEXT, ContentID TEXT, Text TEXT,
            Annotation TEXT, ChapterProgress REAL, DateCreated TEXT, DateModified TEXT, Hidden TEXT);
        CREATE TABLE content (ContentID TEXT, Title TEXT, Attribution TEXT, Series TEXT);
        INSERT INTO content VALUES ('file:///a/grain.epub', 'Grain', 'Ada Miller', NULL),
            ('file:///a/grain.epub!1', 'Chapter 1', NULL, NULL);
        INSERT INTO Bookmark VALUES
            ('1', 'file:///a/grain.epub', 'file:///a/grain.epub!1', 'Oats rest.', NULL, 0.5,
             '2026-01-04T10:00:00.000', NULL, 'false'),
            ('2', 'file:///a/grain.epub', 'file:///a/grain.epub!1', 'Rye rises.', 'Why?', 0.25,
             '2026-01-05T10:00:00.000', '2026-01-06T10:00:00Z', 'false'),
            ('3', 'file:///a/grain.epub', 'file:///a/grain.epub!1', 'x', NULL, 0.1, '', NULL, 'true'),
            ('4', 'file:///a/Old book.kepub.epub', 'y', 'Bran.', NULL, NULL, '2026-01-05T10:00:00Z',
             NULL, 'false'),
            ('5', 'file:///a/Old book.kepub.epub', 'y', NULL, NULL, NULL, '', NULL, 'false');";

    #[test]
    fn book_has_highlights_in_order() {
        let bytes = database(SQL);
        assert!(detects(&Kobo, "/KoboReader.sqlite", &bytes));
        let parsed = parse(&Kobo, "/KoboReader.sqlite", &bytes);
        let found = documents(&parsed);
        assert_eq!(found.len(), 2);
        let other = parse(&Kobo, "/other/KoboReader.sqlite", &bytes);
        for (draft, other) in parsed.drafts.iter().zip(&other.drafts) {
            assert!(draft.body.former_origin().unwrap().starts_with("kobo:file:///a/"));
            assert_ne!(draft.origin, other.origin, "the readers have books of the same path");
        }
        let titled = |title: &str| found.iter().find(|it| it.title == title).unwrap();
        assert!(titled("Old book").content.contains("> Bran."));
        let book = titled("Grain");
        assert_eq!(book.author.as_deref(), Some("Ada Miller"));
        let content = &book.content;
        let place = "> Rye rises.\n\nChapter 1, 25 % · 2026-01-05\n\nNote: Why?";
        assert!(content.contains(place), "{content}");
        assert!(content.find("Rye rises").unwrap() < content.find("Oats rest").unwrap());
        let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["1 highlight: deleted on the reader", "1 bookmark: it has no text"]);
        assert!(try_parse(&Kobo, "/KoboReader.sqlite", database("CREATE TABLE a (b)")).is_err());
    }
}
