//! The write of an archive that a file corresponds to, stored in the file.

use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::{Head, WriteId};

/// The write of the archive that this file corresponds to, if it follows one.
const ARCHIVE_STATE_SQL: &str = "SELECT seq, write_id FROM archive_state";
/// Marks the file as one that follows no archive.
const FORGET_ARCHIVE_STATE_SQL: &str = "DELETE FROM archive_state";
/// Stores the write of the archive that this file corresponds to.
const SET_ARCHIVE_STATE_SQL: &str =
    "INSERT OR REPLACE INTO archive_state (id, seq, write_id) VALUES (1, ?1, ?2)";

/// Returns the write that a file corresponds to; `None` if it follows no archive.
pub fn read_archive_state(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    let mut statement = connection.prepare_cached(ARCHIVE_STATE_SQL)?;
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
    let mut statement = connection.prepare_cached(SET_ARCHIVE_STATE_SQL)?;
    statement.execute((head.seq.cast_signed(), head.write.0.into_bytes()))?;
    Ok(())
}

/// Marks a file as one that follows no archive: it is changed without one.
pub fn forget_archive_state(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(FORGET_ARCHIVE_STATE_SQL)?.execute([])?;
    Ok(())
}
