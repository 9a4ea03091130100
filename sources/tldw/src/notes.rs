//! Notes in a tldw database.

use rusqlite::{Connection, OptionalExtension, named_params};
use vademecum_model::{DraftBody, NoteDraft};

use crate::cell;

/// Lists the notes with their change marks and sizes.
pub(crate) const LIST_SQL: &str = sql!("notes");

/// Reads a note; `None` if it no longer exists.
pub(crate) fn read_note(connection: &Connection, id: &str) -> rusqlite::Result<Option<DraftBody>> {
    let sql = sql!("note");
    let note = connection.prepare_cached(sql)?.query_row(named_params! { ":id": id }, |row| {
        Ok(NoteDraft {
            title: cell::text(row, "title")?.unwrap_or_default(),
            content: cell::text(row, "content")?.unwrap_or_default(),
            tags: cell::text_list(row, "keywords")?,
            created_at: cell::datetime(row, "created_at")?,
            modified_at: cell::datetime(row, "last_modified")?,
            ..NoteDraft::default()
        })
    });
    Ok(note.optional()?.map(DraftBody::Note))
}
