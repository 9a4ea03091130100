//! The write of an archive that a file corresponds to, stored in the file.

use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{Head, WriteId};

/// Returns the write that a file corresponds to; `None` if it follows no archive.
pub fn read_archive_state(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    let mut statement = connection.prepare_cached(include_str!("sql/archive_state.sql"))?;
    let read = |row: &rusqlite::Row<'_>| {
        let (seq, write): (i64, [u8; 16]) = (row.get("seq")?, row.get("write_id")?);
        let write = WriteId(Uuid::from_bytes(write));
        Ok(Head { seq: seq.cast_unsigned(), write, schema: 0 })
    };
    statement.query_row([], read).optional()
}

/// Stores the write that a file corresponds to. The default marks a new file as one that follows an
/// archive, and has no rows of it yet.
pub fn write_archive_state(connection: &Connection, head: Head) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(include_str!("sql/set_archive_state.sql"))?;
    statement.execute((head.seq.cast_signed(), head.write.0.into_bytes()))?;
    Ok(())
}

/// Marks a file as one that follows no archive: it is changed without one.
pub fn forget_archive_state(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(include_str!("sql/forget_archive_state.sql"))?.execute([])?;
    Ok(())
}
