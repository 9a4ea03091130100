//! Inserting and updating notes from drafts.

use rusqlite::named_params;
use vademecum_model::{Draft, DraftBody, NoteDraft, SaveOutcome, SourceName, Timestamp};
use vademecum_source::{SourceError, save_imported};
use vademecum_store::{StoreError, Writer};

use super::FULL_TEXT_TABLE;
use crate::item_table::KEYWORD_TABLES;

/// Indexes a note, replacing its previous entry.
const INDEX_SQL: &str = "INSERT OR REPLACE INTO note_fts (rowid, title, content, keywords, names, folders) \
     VALUES (:row, :title, :content, :keywords, :names, :folders)";
/// Inserts a note.
const INSERT_SQL: &str = "INSERT INTO notes (id, title, content, names, folders, created_at, last_modified) \
     VALUES (:id, :title, :content, :names, :folders, :created_at, :last_modified)";

/// Saves a note, its keywords and its index entry.
pub(crate) fn save_note(writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
    let DraftBody::Note(note) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a note", draft.origin)));
    };
    save_imported(writer, SourceName::Notes, draft, |item, now| {
        if let Some(id) = item {
            replace_note(writer, id, draft)?;
            return Ok(id.to_owned());
        }
        let id = writer.choose_id(sql!("taken"), draft.id.as_deref())?;
        let row = insert_note(writer, &id, note, now)?;
        replace_keywords_and_index(writer, row, &id, note, now)?;
        Ok(id)
    })
}

/// Inserts a note without keywords and index entry. Returns its row.
pub(crate) fn insert_note(
    writer: &Writer<'_>,
    id: &str,
    note: &NoteDraft,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let modified = note.modified_at.unwrap_or(now);
    writer.insert_row(
        INSERT_SQL,
        named_params! {
            ":id": id,
            ":title": note.title,
            ":content": note.content,
            ":names": note.names.join("\n"),
            ":folders": note.folders.join("\n"),
            ":created_at": note.created_at.unwrap_or(modified),
            ":last_modified": modified,
        },
    )
}

/// Replaces all fields of a note.
pub(crate) fn replace_note(
    writer: &Writer<'_>,
    id: &str,
    draft: &Draft,
) -> Result<(), SourceError> {
    let DraftBody::Note(note) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a note", draft.origin)));
    };
    let now = Timestamp::now();
    let row = update_note(writer, id, note, now)?;
    Ok(replace_keywords_and_index(writer, row, id, note, now)?)
}

fn update_note(
    writer: &Writer<'_>,
    id: &str,
    note: &NoteDraft,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let row = writer.query_first(
        sql!("update"),
        named_params! {
            ":id": id,
            ":title": note.title,
            ":content": note.content,
            ":names": note.names.join("\n"),
            ":folders": note.folders.join("\n"),
            ":last_modified": note.modified_at.unwrap_or(now),
        },
        |row| row.get("row"),
    )?;
    row.ok_or_else(|| SourceError::not_found("note", id))
}

/// Replaces the keywords and the index entry of a note.
pub(crate) fn replace_keywords_and_index(
    writer: &Writer<'_>,
    row: i64,
    id: &str,
    note: &NoteDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    KEYWORD_TABLES.replace_keywords(writer, &id, &note.tags, now)?;
    writer.index_row(
        &FULL_TEXT_TABLE,
        row,
        INDEX_SQL,
        named_params! {
            ":row": row,
            ":title": note.title,
            ":content": note.content,
            ":keywords": note.tags.join(" "),
            ":names": note.names.join("\n"),
            ":folders": note.folders.join("\n"),
        },
    )?;
    Ok(())
}
