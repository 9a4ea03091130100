//! Opening of the database file, with the limits of a connection.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, Error, OpenFlags, config::DbConfig, limits::Limit};

use super::{authorizer::authorize_reads, failure::ReadFailure};

/// Maximum size of one value of a read, so that no function can exhaust the memory.
const MAX_READ_BYTES: i32 = 16 * 1_024 * 1_024;
/// Maximum size of one value of a statement that writes.
const MAX_WRITTEN_BYTES: i32 = 64 * 1_024 * 1_024;
/// Size of the page cache, in KiB. A file may ask for a larger one.
const PAGE_CACHE_KB: i32 = 2_048;

/// Opens the file for one read. A PRAGMA may do more than another read.
pub(super) fn open_for_reading(
    path: &Path,
    timeout: Duration,
    is_pragma: bool,
) -> Result<Connection, ReadFailure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = open_connection(path, flags, timeout, MAX_READ_BYTES)?;
    declare_virtual_tables(&connection);
    authorize_reads(&connection, is_pragma)?;
    Ok(connection)
}

/// Opens the file for one statement that may write, in a transaction of the caller.
pub(super) fn open_for_writing(path: &Path, timeout: Duration) -> Result<Connection, ReadFailure> {
    open_connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE, timeout, MAX_WRITTEN_BYTES)
}

fn open_connection(
    path: &Path,
    access: OpenFlags,
    timeout: Duration,
    max_value_bytes: i32,
) -> Result<Connection, ReadFailure> {
    let prepare = || -> Result<Connection, Error> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(timeout)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, max_value_bytes)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        // `SQLite` does not read a file before the first query.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        connection.pragma_update(None, "cache_size", -PAGE_CACHE_KB)?;
        Ok(connection)
    };
    prepare().map_err(|fault| {
        let detail = fault.to_string();
        match ReadFailure::from(fault) {
            failure @ (ReadFailure::Busy(_) | ReadFailure::OutOfMemory) => failure,
            _ => ReadFailure::NotOpened(detail),
        }
    })
}

/// Declares virtual tables ahead of time: `SQLite` does so on first use, by statements that the
/// read authorizer would deny. Errors are ignored here; the query reports them.
fn declare_virtual_tables(connection: &Connection) {
    let names = || -> Result<Vec<String>, Error> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0";
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    for name in names().unwrap_or_default() {
        let sql = format!("SELECT 1 FROM \"{}\" LIMIT 0", name.replace('"', "\"\""));
        drop(connection.prepare(&sql));
    }
}
