//! Opening a database so that nothing of it changes.
//!
//! SQLite may write even when it only reads: it makes `-wal` and `-shm` files, or
//! marks in them how far a reader has come. Here it is told not to.

use std::{fs, io::ErrorKind, path::Path};

use rusqlite::{Connection, OpenFlags};

use super::beside;

/// How a database can be read without writing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// Nobody writes it, and nothing stands in its log.
    Still,
    /// Together with what stands in its log.
    Shared,
}

impl Unwritten {
    /// What such a connection is opened with.
    pub(super) const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
        .union(OpenFlags::SQLITE_OPEN_URI)
        .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

    /// How a file can be read if its disk may only be read; nothing for other disks.
    pub(super) fn of_read_only_disk(path: &Path) -> Option<Self> {
        // Opening a file so changes nothing of it.
        let opened = fs::OpenOptions::new().append(true).open(path);
        opened.is_err_and(|error| error.kind() == ErrorKind::ReadOnlyFilesystem).then(|| {
            let log = fs::metadata(beside(path, "-wal"));
            if log.is_ok_and(|log| log.len() > 0) { Self::Shared } else { Self::Still }
        })
    }

    /// Opens a file so.
    pub fn open(self, path: &Path) -> rusqlite::Result<Connection> {
        Connection::open_with_flags(self.uri(path), Self::FLAGS)
    }

    /// The file as SQLite's URIs name it; every byte that could mean something there
    /// is written as a number.
    pub(super) fn uri(self, path: &Path) -> String {
        let mut uri = String::from(if cfg!(windows) { "file:///" } else { "file:" });
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'\\' if cfg!(windows) => uri.push('/'),
                b':' if cfg!(windows) => uri.push(':'),
                b'/' | b'-' | b'_' | b'.' => uri.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
                byte => uri.extend([
                    '%',
                    char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'),
                    char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'),
                ]),
            }
        }
        uri.push_str(match self {
            Self::Still => "?immutable=1",
            Self::Shared => "?mode=ro&readonly_shm=1",
        });
        uri
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_hold_anything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a ? b#c%41ü&immutable=0.db");
        Connection::open_with_flags(&path, OpenFlags::default())
            .and_then(|connection| connection.execute_batch("CREATE TABLE quince (id)"))
            .unwrap();
        for way in [Unwritten::Still, Unwritten::Shared] {
            let connection = way.open(&path).unwrap();
            let table = connection
                .query_row("SELECT name FROM sqlite_schema", [], |row| row.get::<_, String>(0));
            assert_eq!(table.unwrap(), "quince", "{way:?}");
            connection.execute_batch("CREATE TABLE medlar (id)").unwrap_err();
        }
        assert_eq!(Unwritten::of_read_only_disk(&path), None);
    }
}
