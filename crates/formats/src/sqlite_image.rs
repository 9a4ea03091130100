//! A database of another program, opened from the bytes of its file and of its write-ahead log.
//!
//! Nothing is opened on disk, so that this program is never a second writer and creates no file. The
//! log is applied in memory: committed pages replace those of the file.

use std::{
    borrow::Cow,
    io::{Cursor, Read as _},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, MAIN_DB, Row, types::ValueRef};
use serde_json::{Map, Value};

/// End of the name of a write-ahead log.
const LOG_ENDING: &str = "-wal";
/// Size of the header of a database, in bytes.
const DATABASE_HEADER: usize = 100;
/// Size of the header of a write-ahead log, in bytes.
const LOG_HEADER: usize = 32;
/// Size of the header of a frame in a log, in bytes.
const FRAME_HEADER: usize = 24;
/// First bytes of a database.
pub const SIGNATURE: &[u8] = b"SQLite format 3\0";
/// Maximum size of a database with its log, in bytes.
const MAX_BYTES: usize = 256 * 1_024 * 1_024;

/// Maximum number of rows of a query.
const MAX_ROWS: usize = 2_000_000;

/// Reason why a database cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file is no database.
    #[error("it is no SQLite database")]
    NotADatabase,
    /// The database and its log are larger than 256 MiB.
    #[error("it is larger than 256 MiB")]
    TooLarge,
    /// A query has more than 2,000,000 rows.
    #[error("a table has more than {MAX_ROWS} rows")]
    TooManyRows,
    /// It is damaged, or has other tables.
    #[error("it is no SQLite database that can be read: {0}")]
    Database(#[from] rusqlite::Error),
}

/// Returns the path of the write-ahead log of a database: its last changes, while its program runs.
pub fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push(LOG_ENDING);
    log.into()
}

/// Returns the path of the database of a write-ahead log; `None` for another file.
pub fn database_of(log: &Path) -> Option<PathBuf> {
    log.to_str()?.strip_suffix(LOG_ENDING).map(PathBuf::from)
}

/// Returns whether a file is a SQLite database.
pub fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// Returns whether a database has a table.
pub fn has_table(database: &Connection, name: &str) -> bool {
    let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
    database.query_row(sql, [name], |_| Ok(())).is_ok()
}

/// Opens a database from its bytes. `log` is its write-ahead log, if it has one.
pub fn open_image(bytes: &[u8], log: Option<&[u8]>) -> Result<Connection, ImageError> {
    if !bytes.starts_with(SIGNATURE) || bytes.len() < DATABASE_HEADER {
        return Err(ImageError::NotADatabase);
    }
    let mut image = Cow::Borrowed(bytes);
    if let Some(log) = log {
        apply_log(&mut image, log);
    }
    if image.len() > MAX_BYTES {
        return Err(ImageError::TooLarge);
    }
    // Only the header is copied, because databases are large.
    let (header, pages) = image.split_at(DATABASE_HEADER.min(image.len()));
    let mut header = header.to_vec();
    // An image in memory has no log, so it must not say that it has one.
    if let Some(versions) = header.get_mut(18..20) {
        versions.fill(1);
    }
    let mut connection = Connection::open_in_memory()?;
    let content = Cursor::new(header).chain(pages);
    connection.deserialize_read_exact(MAIN_DB, content, image.len(), true)?;
    drop(image);
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Reads all rows of a query as objects, with the parameter ?1 if there is one. Binary values
/// that are no text are null.
pub fn read_rows(
    database: &Connection,
    sql: &str,
    parameter: Option<&str>,
) -> Result<Vec<Value>, ImageError> {
    let mut statement = database.prepare_cached(sql)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let read = |row: &Row<'_>| {
        let mut fields = Map::new();
        for (column, name) in names.iter().enumerate() {
            let value = match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => text.into(),
                    Err(_) => Value::Null,
                },
            };
            fields.insert(name.clone(), value);
        }
        Ok(Value::Object(fields))
    };
    let rows: rusqlite::Result<Vec<Value>> = match parameter {
        Some(parameter) => statement.query_map([parameter], read)?.take(MAX_ROWS + 1).collect(),
        None => statement.query_map([], read)?.take(MAX_ROWS + 1).collect(),
    };
    let rows = rows?;
    if rows.len() > MAX_ROWS { Err(ImageError::TooManyRows) } else { Ok(rows) }
}

/// Applies the committed frames of a write-ahead log. Reading ends at the first frame that does not
/// belong to the log or is damaged, as in SQLite.
fn apply_log(image: &mut Cow<'_, [u8]>, log: &[u8]) {
    let Some((header, mut rest)) = log.split_at_checked(LOG_HEADER) else { return };
    let big_endian = match number(header, 0) {
        Some(0x377f_0682) => false,
        Some(0x377f_0683) => true,
        _ => return,
    };
    let Some(page_size) = number(header, 8).and_then(|size| usize::try_from(size).ok()) else {
        return;
    };
    let is_valid_size = page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
    let Some(mut sums) = checksum((0, 0), header.get(..24).unwrap_or_default(), big_endian) else {
        return;
    };
    if !is_valid_size || number(header, 24) != Some(sums.0) || number(header, 28) != Some(sums.1) {
        return;
    }
    let mut uncommitted: Vec<(usize, &[u8])> = Vec::new();
    while let Some((frame, after)) = rest.split_at_checked(FRAME_HEADER + page_size) {
        rest = after;
        let (about, page) = frame.split_at(FRAME_HEADER);
        let same_log = about.get(8..16) == header.get(16..24);
        let summed = checksum(sums, about.get(..8).unwrap_or_default(), big_endian)
            .and_then(|sums| checksum(sums, page, big_endian));
        let Some(new_sums) = summed.filter(|_| same_log) else { return };
        if number(about, 16) != Some(new_sums.0) || number(about, 20) != Some(new_sums.1) {
            return;
        }
        sums = new_sums;
        let place = number(about, 0).and_then(|page| usize::try_from(page).ok());
        let Some(place) = place.and_then(|page| page.checked_sub(1)?.checked_mul(page_size)) else {
            return;
        };
        uncommitted.push((place, page));
        let pages = number(about, 4).and_then(|pages| usize::try_from(pages).ok()).unwrap_or(0);
        if pages > 0 {
            let Some(size) = pages.checked_mul(page_size).filter(|size| *size <= MAX_BYTES) else {
                return;
            };
            let image = image.to_mut();
            image.resize(size, 0);
            for (place, page) in uncommitted.drain(..) {
                if let Some(target) = image.get_mut(place..place + page_size) {
                    target.copy_from_slice(page);
                }
            }
        }
    }
}

/// Returns the 32-bit number at an offset, which is stored with its high byte first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Continues the checksum of a log.
fn checksum((mut one, mut two): (u32, u32), bytes: &[u8], big_endian: bool) -> Option<(u32, u32)> {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| -> Option<u32> {
            let word: [u8; 4] = pair.get(at..at + 4)?.try_into().ok()?;
            Some(if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
        };
        one = one.wrapping_add(word(0)?).wrapping_add(two);
        two = two.wrapping_add(word(4)?).wrapping_add(one);
    }
    Some((one, two))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the bytes of a database that these statements fill.
    pub(crate) fn database(sql: &str) -> Vec<u8> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        connection.serialize(MAIN_DB).unwrap().to_vec()
    }

    fn count(bytes: &[u8], log: Option<&[u8]>) -> Result<i64, ImageError> {
        let image = open_image(bytes, log)?;
        Ok(image.query_row("SELECT count(*) FROM message", [], |row| row.get(0))?)
    }

    #[test]
    fn rows_of_log_are_read_and_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        #[expect(clippy::disallowed_methods, reason = "a database of another program")]
        let writer = Connection::open(&path).unwrap();
        let setup = "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE message (text TEXT); INSERT INTO message VALUES ('one');
            PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO message VALUES ('two'), ('three');";
        writer.execute_batch(setup).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let log = std::fs::read(folder.path().join("a.db-wal")).unwrap();
        assert_eq!(count(&bytes, None).unwrap(), 1);
        assert_eq!(count(&bytes, Some(&log)).unwrap(), 3);
        // A frame that is half written is not there yet.
        assert_eq!(count(&bytes, Some(&log[..log.len() - 1])).unwrap(), 1);
        let mut damaged = log.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(count(&bytes, Some(&damaged)).unwrap(), 1);
        assert!(
            open_image(&bytes, Some(&log)).unwrap().execute("DELETE FROM message", []).is_err()
        );
    }

    #[test]
    fn broken_databases_fail() {
        assert!(count(b"", None).is_err());
        assert!(count(b"SQLite format 3\0", None).is_err());
        let mut bytes = SIGNATURE.to_vec();
        bytes.resize(4_096, 0xff);
        assert!(count(&bytes, Some(&[0x37; 64])).is_err());
    }
}
