//! Size and modification time, by which a changed file is detected.

use std::{
    fs::Metadata,
    io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
}

impl FileStamp {
    /// Reads the current size and modification time of a file.
    pub fn from_path(path: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(&path.metadata()?))
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
