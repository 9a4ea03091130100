//! Creating, tagging, editing and deleting notes in the library itself.

use std::borrow::Cow;

use rusqlite::{Row, named_params};
use vademecum_model::{
    ChangedItem, Draft, DraftBody, Edit, FieldReplacement, ItemId, MAX_CONTENT_CHARS, NoteDraft,
    SourceName, TagChange, Timestamp, Uri,
};
use vademecum_source::{SourceError, record_local_change, record_local_item};
use vademecum_store::Writer;

use super::{
    FULL_TEXT_TABLE,
    save::{insert_note, replace_keywords_and_index},
};
use crate::item_table::{ITEM_STATEMENTS, KEYWORD_TABLES};

/// Maximum text length of a note that was longer than what can be written in the library when it was
/// imported, in characters (code points). Its file, of at most 16 MiB, holds the text in any encoding.
const MAX_IMPORTED_CHARS: usize = 4_000_000;

/// The columns of a stored note that edits need.
struct StoredNote {
    row: i64,
    id: String,
    version: i64,
    draft: NoteDraft,
}

/// Creates a note in the library. Its preferred identifier is used if it is free.
pub(crate) fn create_note(writer: &Writer<'_>, draft: &Draft) -> Result<ChangedItem, SourceError> {
    let DraftBody::Note(note) = &draft.body else {
        return Err(SourceError::Refused("this is not a note".to_owned()));
    };
    let now = Timestamp::now();
    let id = writer.choose_id(sql!("taken"), draft.id.as_deref())?;
    let row = insert_note(writer, &id, note, now)?;
    replace_keywords_and_index(writer, row, &id, note, now)?;
    record_local_item(writer, SourceName::Notes, &id, now)?;
    Ok(ChangedItem { is_new: true, ..to_written(find_note(writer, &id)?) })
}

/// Changes the tags of a note, and its text if that names them. A change without effect leaves the
/// version as it is.
pub(crate) fn update_tags(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &TagChange,
) -> Result<ChangedItem, SourceError> {
    let note = find_note(writer, id)?;
    let Some(tags) = tagging.apply_to(&note.draft.tags) else { return Ok(to_written(note)) };
    let rewritten = tagging.text.as_ref().map(|text| text.compute(&note.draft)).transpose();
    let rewritten = rewritten.map_err(SourceError::Refused)?;
    let content = rewritten.and_then(|rewritten| rewritten.content);
    let replacement = FieldReplacement { tags: Some(tags), content, title: None };
    apply_replacement(writer, &note, &replacement)
}

/// Edits or deletes a note. Fails if `version` is given and is not the stored version.
pub(crate) fn edit_note(
    writer: &Writer<'_>,
    id: &ItemId,
    version: Option<i64>,
    edit: &Edit,
) -> Result<ChangedItem, SourceError> {
    let note = find_note(writer, id)?;
    if let Some(expected) = version.filter(|expected| *expected != note.version) {
        return Err(SourceError::stale(&note_uri(&note), expected, note.version));
    }
    let stored = &note.draft.content;
    let replacement = match edit {
        Edit::Append(text) => {
            let content = Some(append_line(stored, &like_line_ends(text, stored)));
            FieldReplacement { content, ..FieldReplacement::default() }
        }
        Edit::Replace(replacement) => replacement.clone(),
        Edit::Rewrite(rewrite) => rewrite.compute(&note.draft).map_err(SourceError::Refused)?,
        Edit::Delete => return delete_note(writer, note),
    };
    let content = replacement.content.as_ref();
    let content = content.map(|text| with_last_line_end(like_line_ends(text, stored), stored));
    if let Some(content) = &content {
        check_length(content, stored)?;
    }
    let content = content.map(Cow::into_owned);
    apply_replacement(writer, &note, &FieldReplacement { content, ..replacement })
}

/// Returns `text` with the line ends of `model`, if all of those are CRLF.
fn like_line_ends<'t>(text: &'t str, model: &str) -> Cow<'t, str> {
    let ends = model.matches('\n').count();
    if ends == 0 || text.contains('\r') || model.matches("\r\n").count() < ends {
        return text.into();
    }
    text.replace('\n', "\r\n").into()
}

/// Returns `text` with a line end if `model` has one.
fn with_last_line_end<'t>(text: Cow<'t, str>, model: &str) -> Cow<'t, str> {
    if text.is_empty() || text.ends_with('\n') || !model.ends_with('\n') {
        return text;
    }
    let end = if model.ends_with("\r\n") { "\r\n" } else { "\n" };
    [&text, end].concat().into()
}

/// Appends `more` to `content` on a line of its own.
fn append_line(content: &str, more: &str) -> String {
    let has_end = content.is_empty() || content.ends_with(['\n', '\r']);
    let gap = if has_end { Cow::Borrowed("") } else { like_line_ends("\n", content) };
    [content, &gap, more].concat()
}

/// Fails if an edit makes a text longer than the maximum. A longer text from a file may be edited while
/// its file can hold it.
fn check_length(content: &str, before: &str) -> Result<(), SourceError> {
    // The byte length is cheaper than counting characters, and never smaller.
    if content.len() <= MAX_CONTENT_CHARS {
        return Ok(());
    }
    let most = match before.chars().count() {
        long if long > MAX_CONTENT_CHARS => MAX_IMPORTED_CHARS,
        _ => MAX_CONTENT_CHARS,
    };
    let length = content.chars().count();
    if length > most {
        return Err(SourceError::Refused(format!(
            "the note would have {length} characters, the limit is {most}; start another one"
        )));
    }
    Ok(())
}

fn apply_replacement(
    writer: &Writer<'_>,
    note: &StoredNote,
    replacement: &FieldReplacement,
) -> Result<ChangedItem, SourceError> {
    let now = Timestamp::now();
    writer.execute(
        sql!("edit"),
        named_params! {
            ":row": note.row,
            ":title": replacement.title,
            ":content": replacement.content,
            ":now": now,
        },
    )?;
    if let Some(tags) = &replacement.tags {
        KEYWORD_TABLES.replace_keywords(writer, &note.id, tags, now)?;
    }
    let this = named_params! { ":key": note.row };
    writer.index_row(&FULL_TEXT_TABLE, note.row, sql!("reindex"), this)?;
    record_local_change(writer, SourceName::Notes, &note.id, now)?;
    Ok(to_written(find_note(writer, &note.id)?))
}

/// Marks the note as deleted and removes it from the index. Its keywords are kept, so that it can
/// be restored.
fn delete_note(writer: &Writer<'_>, note: StoredNote) -> Result<ChangedItem, SourceError> {
    let now = Timestamp::now();
    let version = writer.query_first(
        sql!("delete"),
        named_params! { ":row": note.row, ":now": now },
        |row| row.get("version"),
    )?;
    let this = named_params! { ":key": note.row };
    let sql = ITEM_STATEMENTS.derived_fts_table.unindex_sql;
    writer.index_row(&FULL_TEXT_TABLE, note.row, sql, this)?;
    record_local_change(writer, SourceName::Notes, &note.id, now)?;
    Ok(to_written(StoredNote { version: version.unwrap_or(note.version), ..note }))
}

fn find_note(
    writer: &Writer<'_>,
    id: &(impl ToString + ?Sized),
) -> Result<StoredNote, SourceError> {
    let id = id.to_string();
    let of_this = named_params! { ":row": None::<i64>, ":id": id };
    let found = writer.query_first(sql!("read"), of_this, stored_note_from_row)?;
    found.ok_or_else(|| SourceError::not_found("note", id))
}

fn stored_note_from_row(row: &Row<'_>) -> rusqlite::Result<StoredNote> {
    let tags: String = row.get("tags")?;
    let draft = NoteDraft {
        title: row.get("title")?,
        content: row.get("content")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        ..NoteDraft::default()
    };
    Ok(StoredNote { row: row.get("row")?, id: row.get("id")?, version: row.get("version")?, draft })
}

fn note_uri(note: &StoredNote) -> Uri {
    Uri::item(SourceName::Notes, &note.id)
}

fn to_written(note: StoredNote) -> ChangedItem {
    let uri = note_uri(&note);
    ChangedItem {
        id: ItemId::Text(note.id),
        uri,
        version: note.version,
        tags: note.draft.tags,
        is_new: false,
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{Change, RetrievalMode, RetrievalOptions};
    use vademecum_testing::SourceFixture;

    use super::*;
    use crate::Notes;

    fn note_draft(content: &str) -> Draft {
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
            body: DraftBody::Note(note),
        }
    }

    fn edit_change(id: &ItemId, version: Option<i64>, edit: Edit) -> Change {
        Change::Edit { id: id.clone(), version, edit }
    }

    fn full_content(bench: &SourceFixture<Notes>, id: &ItemId) -> String {
        let full =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        bench.load_item(id.clone(), full).unwrap().content.as_str().unwrap().to_owned()
    }

    #[test]
    fn append_adds_text_on_new_line() {
        let bench = SourceFixture::new(Notes);
        for (before, after) in
            [("", "x"), ("a", "a\nx"), ("a\n", "a\nx\n"), ("a\r\n", "a\r\nx\r\n")]
        {
            let note = bench.apply_change(&Change::Add(Box::new(note_draft(before)))).unwrap();
            let append = edit_change(&note.id, None, Edit::Append("x".to_owned()));
            assert_eq!(bench.apply_change(&append).unwrap().version, 2);
            assert_eq!(full_content(&bench, &note.id), after);
        }
    }

    #[test]
    fn append_beyond_max_length_is_rejected() {
        let bench = SourceFixture::new(Notes);
        let almost = "é".repeat(MAX_CONTENT_CHARS - 2);
        let note = bench.apply_change(&Change::Add(Box::new(note_draft(&almost)))).unwrap();
        let append = edit_change(&note.id, None, Edit::Append("x".to_owned()));
        bench.apply_change(&append).unwrap();
        let refused = bench.apply_change(&append).unwrap_err().to_string();
        assert!(refused.contains("1000002") && refused.contains("1000000"), "{refused}");
    }

    #[test]
    fn replacement_changes_only_given_fields() {
        let bench = SourceFixture::new(Notes);
        let note = bench.apply_change(&Change::Add(Box::new(note_draft("Knead.")))).unwrap();
        let titled =
            FieldReplacement { title: Some("Loaf".to_owned()), ..FieldReplacement::default() };
        let edit = edit_change(&note.id, Some(1), Edit::Replace(titled));
        let written = bench.apply_change(&edit).unwrap();
        assert_eq!((written.version, &written.tags[..]), (2, &["rye".to_owned()][..]));
        assert_eq!(full_content(&bench, &note.id), "Knead.");
        assert!(bench.search("bread").is_empty() && bench.search("loaf knead rye").len() == 1);
        let stale = bench.apply_change(&edit).unwrap_err().to_string();
        assert!(stale.contains("at version 2, not 1"), "{stale}");
    }

    #[test]
    fn deleted_note_is_not_restored_by_import() {
        let bench = SourceFixture::with_drafts(Notes, &[note_draft("Knead.")]);
        let id = bench.search("knead")[0].id.clone();
        let gone = bench.apply_change(&edit_change(&id, None, Edit::Delete)).unwrap();
        assert_eq!(gone.version, 2);
        let again = bench.apply_change(&edit_change(&id, None, Edit::Delete));
        assert!(matches!(again, Err(SourceError::NotFound { .. })));
        bench.save_draft(&note_draft("Knead."));
        assert!(bench.try_save_draft(&note_draft("Knead it.")).is_err());
        assert!(bench.search("knead").is_empty() && bench.search("bread").is_empty());
    }
}
