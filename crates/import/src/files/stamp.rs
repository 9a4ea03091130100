//! Size and modification time, by which a changed file is detected.

use std::{
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use vademecum_formats::sqlite_image::log_of;

use super::open_file::has_extension;

/// Extensions of databases.
const DATABASE_EXTENSIONS: [&str; 4] = ["db", "vscdb", "sqlite", "sqlite3"];

/// Returns the path of the write-ahead log of a database: its last changes, while its program runs.
pub(crate) fn database_log(path: &Path) -> Option<PathBuf> {
    has_extension(path, &DATABASE_EXTENSIONS).then(|| log_of(path))
}

/// Size and modification time of a file; of a database, together with those of its write-ahead log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
}

impl FileStamp {
    /// Reads the current size and modification time of a file. Changes of a database are in its log until its
    /// program moves them.
    pub fn from_path(path: &Path) -> io::Result<Self> {
        let file = Self::from_metadata(&path.metadata()?);
        let log = database_log(path).and_then(|log| log.symlink_metadata().ok());
        let log = log.filter(Metadata::is_file).map(|log| Self::from_metadata(&log));
        Ok(file.with_log(log))
    }

    /// Returns the stamp of a database with that of its log, if it has one.
    pub(crate) fn with_log(self, log: Option<Self>) -> Self {
        let Some(log) = log else { return self };
        let size = self.size.saturating_add(log.size);
        Self { size, modified: self.modified.max(log.modified) }
    }

    /// Returns the size and the modification time in the metadata of a file.
    pub(crate) fn from_metadata(found: &Metadata) -> Self {
        let modified = found.modified().map(to_unix_nanos).unwrap_or_default();
        Self { size: found.len(), modified }
    }
}

/// Returns the system time, in nanoseconds since 1970.
pub(crate) fn unix_nanos_now() -> i64 {
    to_unix_nanos(SystemTime::now())
}

fn to_unix_nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
