//! Taking prompts away whose origin is gone.

use rusqlite::named_params;
use vademecum_kit::{
    model::SourceName,
    source::SourceError,
    store::{Writer, remove_once},
};

use super::TABLE;

/// Marks what came from `origin` as deleted, and makes it unfindable.
pub(crate) fn remove(writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
    remove_once(writer, SourceName::Prompts, origin, |id| {
        let sql = include_str!("../sql/remove.sql");
        let row = writer.first(sql, named_params! { ":id": id }, |row| row.get("row"))?;
        let Some(row) = row else { return Ok(()) };
        let sql = include_str!("../sql/unindex.sql");
        writer.index(&TABLE, row, sql, named_params! { ":row": row })
    })
}
