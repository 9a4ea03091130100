//! Notes as tldw keeps them.

use rusqlite::{Connection, OptionalExtension, named_params};
use vademecum_kit::model::{Body, NoteDraft};

use crate::cell;

/// The notes that are there.
pub(crate) const LIST: &str = include_str!("../sql/notes.sql");

/// Reads a note, if it is still there.
pub(crate) fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<Body>> {
    let sql = include_str!("../sql/note.sql");
    let note = connection.prepare_cached(sql)?.query_row(named_params! { ":id": id }, |row| {
        Ok(NoteDraft {
            title: cell::text(row, "title")?.unwrap_or_default(),
            content: cell::text(row, "content")?.unwrap_or_default(),
            tags: cell::list(row, "keywords")?,
            created_at: cell::moment(row, "created_at")?,
            modified_at: cell::moment(row, "last_modified")?,
        })
    });
    Ok(note.optional()?.map(Body::Note))
}
