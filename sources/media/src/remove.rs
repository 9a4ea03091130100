//! Removing documents whose origin no longer exists.

use rusqlite::named_params;
use vademecum_kit::{
    model::SourceName,
    source::SourceError,
    store::{Writer, remove_imported},
};

use super::FULL_TEXT_TABLE;

/// Marks the document that was imported from `origin` as deleted and removes it from the index.
pub(crate) fn remove_document(writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
    remove_imported(writer, SourceName::Media, origin, |id| {
        let sql = include_str!("../sql/remove.sql");
        let row = writer.query_first(sql, named_params! { ":id": id }, |row| row.get("row"))?;
        let Some(row) = row else { return Ok(()) };
        let sql = include_str!("../sql/unindex.sql");
        writer.index_row(&FULL_TEXT_TABLE, row, sql, named_params! { ":row": row })
    })
}
