//! Notes that are written, edited and deleted in the library itself.

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{
        Body, Draft, Edit, ItemId, LONGEST_CONTENT, Replacement, SourceName, Tagging, Timestamp,
        Uri, Written,
    },
    source::SourceError,
    store::{Writer, changed_here, written_here},
};

use super::{
    TABLE,
    save::{describe, insert, put_keywords},
};

/// A note as it is stored.
struct Stored {
    row: i64,
    id: String,
    content: String,
    version: i64,
    tags: Vec<String>,
}

/// Adds a note.
pub(crate) fn add(writer: &Writer<'_>, draft: &Draft) -> Result<Written, SourceError> {
    let Body::Note(note) = &draft.body else {
        return Err(SourceError::Refused("this is not a note".to_owned()));
    };
    let now = Timestamp::now();
    let id = writer.free_id(include_str!("../sql/taken.sql"), draft.id.as_deref())?;
    let row = insert(writer, &id, note, now)?;
    describe(writer, row, &id, note, now)?;
    written_here(writer, SourceName::Notes, &id, now)?;
    Ok(written(find(writer, &id)?))
}

/// Changes the tags of a note.
pub(crate) fn tag(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &Tagging,
) -> Result<Written, SourceError> {
    let note = find(writer, id)?;
    match tagging.applied_to(&note.tags) {
        None => Ok(written(note)),
        Some(tags) => {
            replace(writer, &note, &Replacement { tags: Some(tags), ..Replacement::default() })
        }
    }
}

/// Edits or deletes a note.
pub(crate) fn edit(
    writer: &Writer<'_>,
    id: &ItemId,
    version: Option<i64>,
    edit: &Edit,
) -> Result<Written, SourceError> {
    let note = find(writer, id)?;
    if let Some(expected) = version.filter(|expected| *expected != note.version) {
        return Err(SourceError::stale(&uri(&note), expected, note.version));
    }
    match edit {
        Edit::Append(text) => {
            let content = Some(continued(&note.content, text)?);
            replace(writer, &note, &Replacement { content, ..Replacement::default() })
        }
        Edit::Replace(replacement) => replace(writer, &note, replacement),
        Edit::Delete => delete(writer, note),
    }
}

/// A text with more at its end, on a line of its own.
fn continued(content: &str, more: &str) -> Result<String, SourceError> {
    let gap = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
    let content = [content, gap, more].concat();
    let length = content.chars().count();
    if length > LONGEST_CONTENT {
        return Err(SourceError::Refused(format!(
            "the note would have {length} characters, of at most {LONGEST_CONTENT}; begin \
             another one"
        )));
    }
    Ok(content)
}

fn replace(
    writer: &Writer<'_>,
    note: &Stored,
    replacement: &Replacement,
) -> Result<Written, SourceError> {
    let now = Timestamp::now();
    writer.run(
        include_str!("../sql/edit.sql"),
        named_params! {
            ":row": note.row,
            ":title": replacement.title,
            ":content": replacement.content,
            ":now": now,
        },
    )?;
    if let Some(tags) = &replacement.tags {
        put_keywords(writer, &note.id, tags, now)?;
    }
    let this = named_params! { ":row": note.row };
    writer.index(&TABLE, note.row, include_str!("../sql/reindex.sql"), this)?;
    changed_here(writer, SourceName::Notes, &note.id, now)?;
    Ok(written(find(writer, &note.id)?))
}

/// Its keywords stay on it, for whoever wants it back.
fn delete(writer: &Writer<'_>, note: Stored) -> Result<Written, SourceError> {
    let now = Timestamp::now();
    let version = writer.first(
        include_str!("../sql/delete.sql"),
        named_params! { ":row": note.row, ":now": now },
        |row| row.get("version"),
    )?;
    let this = named_params! { ":row": note.row };
    writer.index(&TABLE, note.row, include_str!("../sql/unindex.sql"), this)?;
    changed_here(writer, SourceName::Notes, &note.id, now)?;
    Ok(written(Stored { version: version.unwrap_or(note.version), ..note }))
}

fn find(writer: &Writer<'_>, id: &(impl ToString + ?Sized)) -> Result<Stored, SourceError> {
    let id = id.to_string();
    let of_this = named_params! { ":row": None::<i64>, ":id": id };
    let found = writer.first(include_str!("../sql/read.sql"), of_this, stored)?;
    found.ok_or_else(|| SourceError::not_found("note", id))
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let tags: String = row.get("tags")?;
    Ok(Stored {
        row: row.get("row")?,
        id: row.get("id")?,
        content: row.get("content")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn uri(note: &Stored) -> Uri {
    Uri::item(SourceName::Notes, &note.id)
}

fn written(note: Stored) -> Written {
    let uri = uri(&note);
    Written { uri, version: note.version, tags: note.tags, id: ItemId::Text(note.id) }
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Change, Mode, NoteDraft, RetrievalOptions};
    use vademecum_testing::Bench;

    use super::*;
    use crate::Notes;

    fn draft(content: &str) -> Draft {
        let note = NoteDraft {
            title: "Bread".to_owned(),
            content: content.to_owned(),
            tags: vec!["rye".to_owned()],
            ..NoteDraft::default()
        };
        Draft {
            origin: "file:/bread.md".to_owned(),
            digest: content.to_owned(),
            id: None,
            body: Body::Note(note),
        }
    }

    fn change(id: &ItemId, version: Option<i64>, edit: Edit) -> Change {
        Change::Edit { id: id.clone(), version, edit }
    }

    fn content(bench: &Bench<Notes>, id: &ItemId) -> String {
        let full = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        bench.get(id.clone(), full).unwrap().content.as_str().unwrap().to_owned()
    }

    #[test]
    fn what_is_appended_stands_on_a_line_of_its_own() {
        let bench = Bench::new(Notes);
        for (before, after) in [("", "x"), ("a", "a\nx"), ("a\n", "a\nx")] {
            let note = bench.change(&Change::Add(Box::new(draft(before)))).unwrap();
            let append = change(&note.id, None, Edit::Append("x".to_owned()));
            assert_eq!(bench.change(&append).unwrap().version, 2);
            assert_eq!(content(&bench, &note.id), after);
        }
    }

    #[test]
    fn a_note_does_not_grow_beyond_the_longest_text() {
        let bench = Bench::new(Notes);
        let almost = "é".repeat(LONGEST_CONTENT - 2);
        let note = bench.change(&Change::Add(Box::new(draft(&almost)))).unwrap();
        let append = change(&note.id, None, Edit::Append("x".to_owned()));
        bench.change(&append).unwrap();
        let refused = bench.change(&append).unwrap_err().to_string();
        assert!(refused.contains("1000002") && refused.contains("1000000"), "{refused}");
    }

    #[test]
    fn only_what_is_given_is_replaced() {
        let bench = Bench::new(Notes);
        let note = bench.change(&Change::Add(Box::new(draft("Knead.")))).unwrap();
        let titled = Replacement { title: Some("Loaf".to_owned()), ..Replacement::default() };
        let edit = change(&note.id, Some(1), Edit::Replace(titled));
        let written = bench.change(&edit).unwrap();
        assert_eq!((written.version, &written.tags[..]), (2, &["rye".to_owned()][..]));
        assert_eq!(content(&bench, &note.id), "Knead.");
        assert!(bench.search("bread").is_empty() && bench.search("loaf knead rye").len() == 1);
        let stale = bench.change(&edit).unwrap_err().to_string();
        assert!(stale.contains("at version 2, not 1"), "{stale}");
    }

    #[test]
    fn what_is_deleted_here_does_not_come_back_with_its_file() {
        let bench = Bench::filled(Notes, &[draft("Knead.")]);
        let id = bench.search("knead")[0].id.clone();
        let gone = bench.change(&change(&id, None, Edit::Delete)).unwrap();
        assert_eq!(gone.version, 2);
        let again = bench.change(&change(&id, None, Edit::Delete));
        assert!(matches!(again, Err(SourceError::NotFound { .. })));
        bench.save(&draft("Knead."));
        assert!(bench.try_save(&draft("Knead it.")).is_err());
        assert!(bench.search("knead").is_empty() && bench.search("bread").is_empty());
    }
}
