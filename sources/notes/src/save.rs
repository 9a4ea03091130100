//! Adding notes and bringing them up to date.

use rusqlite::named_params;
use vademecum_kit::{
    model::{Body, Draft, NoteDraft, Saved, SourceName, Timestamp},
    source::SourceError,
    store::{StoreError, Writer, save_once},
};

use super::TABLE;

/// Saves a note, its keywords and its words.
pub(crate) fn save(writer: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError> {
    let Body::Note(note) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a note", draft.origin)));
    };
    save_once(writer, SourceName::Notes, draft, |item, now| {
        let id = match item {
            Some(id) => id.to_owned(),
            None => writer.free_id(include_str!("../sql/taken.sql"), draft.id.as_deref())?,
        };
        let row = match item {
            Some(id) => update(writer, id, note, now)?,
            None => insert(writer, &id, note, now)?,
        };
        describe(writer, row, &id, note, now)?;
        Ok(id)
    })
}

/// Adds a note without keywords and words.
pub(crate) fn insert(
    writer: &Writer<'_>,
    id: &str,
    note: &NoteDraft,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let modified = note.modified_at.unwrap_or(now);
    writer.insert(
        include_str!("../sql/insert.sql"),
        named_params! {
            ":id": id,
            ":title": note.title,
            ":content": note.content,
            ":created_at": note.created_at.unwrap_or(modified),
            ":last_modified": modified,
        },
    )
}

fn update(
    writer: &Writer<'_>,
    id: &str,
    note: &NoteDraft,
    now: Timestamp,
) -> Result<i64, SourceError> {
    let row = writer.first(
        include_str!("../sql/update.sql"),
        named_params! {
            ":id": id,
            ":title": note.title,
            ":content": note.content,
            ":last_modified": note.modified_at.unwrap_or(now),
        },
        |row| row.get("row"),
    )?;
    row.ok_or_else(|| SourceError::not_found("note", id))
}

/// Replaces the note's keywords and words.
pub(crate) fn describe(
    writer: &Writer<'_>,
    row: i64,
    id: &str,
    note: &NoteDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    put_keywords(writer, id, &note.tags, now)?;
    writer.index(
        &TABLE,
        row,
        include_str!("../sql/index.sql"),
        named_params! {
            ":row": row,
            ":title": note.title,
            ":content": note.content,
            ":keywords": note.tags.join(" "),
        },
    )?;
    Ok(())
}

/// Replaces the note's keywords.
pub(crate) fn put_keywords(
    writer: &Writer<'_>,
    id: &str,
    keywords: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(include_str!("../sql/unlink_keywords.sql"), named_params! { ":note_id": id })?;
    for keyword in keywords {
        let keyword = keyword.trim();
        writer.run(
            include_str!("../sql/add_keyword.sql"),
            named_params! { ":keyword": keyword, ":now": now },
        )?;
        writer.run(
            include_str!("../sql/link_keyword.sql"),
            named_params! { ":note_id": id, ":keyword": keyword, ":now": now },
        )?;
    }
    Ok(())
}
