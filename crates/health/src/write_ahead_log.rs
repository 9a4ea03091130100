//! The write-ahead log of a `SQLite` database, which no statement measures.

use std::{fs, path::Path};

use super::{Finding, Severity};

/// Size from which on the log is a finding, in bytes. `SQLite` overwrites it from about 4 MB on.
const LARGE: u64 = 64 << 20;
/// Size from which on it is a warning, in bytes.
const VERY_LARGE: u64 = 1 << 30;

/// Returns a finding if the log beside the database is large. The name of the file is not in it.
pub(super) fn find_large_log(database: &Path) -> Option<Finding> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let bytes = fs::metadata(Path::new(&log)).ok()?.len();
    if bytes < LARGE {
        return None;
    }
    let megabytes = bytes >> 20;
    Some(Finding {
        severity: if bytes < VERY_LARGE { Severity::Notice } else { Severity::Warning },
        object: "write-ahead log".to_owned(),
        measure: Some(bytes.into()),
        unit: Some("bytes".to_owned()),
        sentence: format!(
            "The write-ahead log takes {megabytes} MB and slows reads: it grows while a transaction \
             stays open."
        ),
        suggestion: Some(
            "PRAGMA wal_checkpoint(TRUNCATE); -- when no transaction is open".to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_log_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("shop.db");
        assert_eq!(find_large_log(&database), None);
        for (bytes, severity) in [
            (4 << 20, None),
            (LARGE, Some(Severity::Notice)),
            (VERY_LARGE, Some(Severity::Warning)),
        ] {
            let log = fs::File::create(folder.path().join("shop.db-wal")).unwrap();
            log.set_len(bytes).unwrap();
            assert_eq!(find_large_log(&database).map(|found| found.severity), severity, "{bytes}");
        }
    }
}
