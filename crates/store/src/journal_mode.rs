//! Change of a new file to a write-ahead log.

use std::{
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

/// Interval between attempts to get the lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Gives the file a write-ahead log. The setting is stored in the file and cannot be changed inside a
/// transaction. Waits for locks of other connections until the timeout.
pub(super) fn enable_wal(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    let give_up_at = Instant::now() + timeout;
    enable_wal_while(connection, || {
        thread::sleep(RETRY_INTERVAL);
        Instant::now() < give_up_at
    })
}

/// Repeats the change while the file is locked and `wait` returns `true`. SQLite itself ignores the busy
/// timeout of the connection here and fails at once, because the change upgrades a read lock.
fn enable_wal_while(
    connection: &Connection,
    mut wait: impl FnMut() -> bool,
) -> rusqlite::Result<()> {
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait() => {}
            changed => return changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::file::open_connection, *};

    #[test]
    fn new_file_waits_for_lock_of_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let (here, elsewhere) = (open_connection(&path).unwrap(), open_connection(&path).unwrap());
        elsewhere.execute_batch("BEGIN IMMEDIATE").unwrap();
        enable_wal_while(&here, || false).unwrap_err();
        let mut waits = 0;
        let release = || {
            waits += 1;
            elsewhere.execute_batch("COMMIT").is_ok()
        };
        enable_wal_while(&here, release).unwrap();
        assert_eq!(waits, 1);
    }
}
