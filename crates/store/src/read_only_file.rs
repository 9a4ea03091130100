//! Opening a database without modifying any file.
//!
//! SQLite may write even when it only reads: it creates `-wal` and `-shm` files, or records the
//! position of a reader in them. The URI parameters used here prevent that.

use std::{fs, io::ErrorKind, path::Path};

use rusqlite::{Connection, OpenFlags};

use super::sidecar_path;

/// Method of reading a database without writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOnlyFile {
    /// The file has no writer and an empty write-ahead log.
    Immutable,
    /// The file is read together with its write-ahead log.
    WithLog,
}

impl ReadOnlyFile {
    /// Flags for opening the connection.
    pub(super) const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
        .union(OpenFlags::SQLITE_OPEN_URI)
        .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

    /// Returns how to read a file on a read-only disk, or `None` if the disk is writable.
    pub(super) fn detect_read_only_disk(path: &Path) -> Option<Self> {
        // Opening a file for appending does not modify it.
        let opened = fs::OpenOptions::new().append(true).open(path);
        opened.is_err_and(|error| error.kind() == ErrorKind::ReadOnlyFilesystem).then(|| {
            let log = fs::metadata(sidecar_path(path, "-wal"));
            if log.is_ok_and(|log| log.len() > 0) { Self::WithLog } else { Self::Immutable }
        })
    }

    /// Opens a file in this mode.
    pub fn open(self, path: &Path) -> rusqlite::Result<Connection> {
        Connection::open_with_flags(self.to_sqlite_uri(path), Self::FLAGS)
    }

    /// Returns the file as an SQLite URI. All bytes with a special meaning in URIs are
    /// percent-encoded.
    pub(super) fn to_sqlite_uri(self, path: &Path) -> String {
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
            Self::Immutable => "?immutable=1",
            Self::WithLog => "?mode=ro&readonly_shm=1",
        });
        uri
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_uri_escapes_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a ? b#c%41ü&immutable=0.db");
        Connection::open_with_flags(&path, OpenFlags::default())
            .and_then(|connection| connection.execute_batch("CREATE TABLE quince (id)"))
            .unwrap();
        for way in [ReadOnlyFile::Immutable, ReadOnlyFile::WithLog] {
            let connection = way.open(&path).unwrap();
            let table = connection
                .query_row("SELECT name FROM sqlite_schema", [], |row| row.get::<_, String>(0));
            assert_eq!(table.unwrap(), "quince", "{way:?}");
            connection.execute_batch("CREATE TABLE medlar (id)").unwrap_err();
        }
        assert_eq!(ReadOnlyFile::detect_read_only_disk(&path), None);
    }
}
