//! Entries on their way to an archive: they are kept in a file of this server and delivered from
//! there, each once, also after an outage or the end of this program.

use std::collections::HashSet;

use rusqlite::{ToSql, named_params, types::Value};
use vademecum_core::config;
use vademecum_model::Deadline;
use vademecum_store::{DataFolder, Durability, StoreError};

use super::{
    AuditStore,
    batch::AuditBatch,
    store::{READ_TIMEOUT, enforce_limits},
};

/// Name of the file, in the data folder.
const FILE: &str = "audit-spool.db";
/// Number of entries that are delivered in one transaction.
const DELIVERY_SIZE: usize = 500;

/// Columns of an entry, in order.
const COLUMNS: [&str; 18] = [
    ":at",
    ":user",
    ":key",
    ":client",
    ":transport",
    ":address",
    ":method",
    ":tool",
    ":sources",
    ":items",
    ":item_count",
    ":outcome",
    ":code",
    ":reason",
    ":arguments",
    ":count",
    ":bytes",
    ":ms",
];
/// Removes the entries up to `:last`.
const REMOVE_SQL: &str = "DELETE FROM entry WHERE id <= :last";

/// Kept entries of this server.
#[derive(Debug)]
pub(super) struct AuditSpool {
    kept: AuditStore,
}

/// An entry as it is stored, without its number.
type StoredEntry = Vec<Value>;

impl AuditSpool {
    /// Returns the kept entries of a data folder that follows an archive; `None` of another one.
    pub(super) fn of(data: &DataFolder) -> Option<Self> {
        data.archive()?;
        Some(Self { kept: AuditStore::at(data.path().join(FILE)) })
    }

    /// Returns whether there may be entries.
    pub(super) fn may_have_entries(&self) -> bool {
        self.kept.may_have_entries()
    }

    /// Keeps a batch. The limit of the size of the log holds for the file as well.
    pub(super) fn keep(
        &self,
        batch: &AuditBatch,
        limits: &config::Audit,
    ) -> Result<(), StoreError> {
        self.kept.append(batch, limits, false)
    }

    /// Moves all entries to the log, and enforces its limits as [`AuditStore::append`] does. Returns
    /// whether there were any. An entry that the log has already is not added again: the archive may
    /// have stored it without an answer, or this program may have ended before it removed it here.
    pub(super) fn deliver(
        &self,
        log: &AuditStore,
        limits: &config::Audit,
        remove_old: bool,
    ) -> Result<bool, StoreError> {
        let mut has_delivered = false;
        if !self.may_have_entries() {
            return Ok(has_delivered);
        }
        loop {
            let entries = self.first_entries()?;
            let Some((last, _)) = entries.last() else { break };
            let last = *last;
            let entries: Vec<StoredEntry> = entries.into_iter().map(|(_, entry)| entry).collect();
            add_missing(log, &entries, limits, remove_old)?;
            has_delivered = true;
            self.kept.store.write(Durability::Bulk, |writer| {
                writer.execute(REMOVE_SQL, named_params! { ":last": last })
            })?;
        }
        Ok(has_delivered)
    }

    fn first_entries(&self) -> Result<Vec<(i64, StoredEntry)>, StoreError> {
        let limit = i64::try_from(DELIVERY_SIZE).unwrap_or(i64::MAX);
        self.kept.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            let parameters = named_params! { ":limit": limit };
            reader.query_all(include_str!("sql/kept_entries.sql"), parameters, |row| {
                Ok((row.get("id")?, read_entry(row)?))
            })
        })
    }
}

/// Adds the entries that the log does not have.
fn add_missing(
    log: &AuditStore,
    entries: &[StoredEntry],
    limits: &config::Audit,
    remove_old: bool,
) -> Result<(), StoreError> {
    let times = entries.iter().filter_map(|entry| match entry.first() {
        Some(Value::Text(at)) => Some(at.as_str()),
        _ => None,
    });
    let since = times.min().unwrap_or_default();
    log.create_private_file()?;
    log.store.write(Durability::Bulk, |writer| {
        let parameters = named_params! { ":since": since };
        let stored =
            writer.query_all(include_str!("sql/entries_since.sql"), parameters, |row| {
                Ok(identity(&read_entry(row)?))
            })?;
        let stored: HashSet<String> = stored.into_iter().collect();
        for entry in entries.iter().filter(|entry| !stored.contains(&identity(entry))) {
            let values =
                COLUMNS.iter().zip(entry).map(|(name, value)| (*name, value as &dyn ToSql));
            let values: Vec<(&str, &dyn ToSql)> = values.collect();
            writer.execute(include_str!("sql/append.sql"), &values)?;
        }
        enforce_limits(writer, limits, remove_old)
    })
}

fn read_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredEntry> {
    COLUMNS.iter().map(|name| row.get(name.trim_start_matches(':'))).collect()
}

/// Returns a text in which two entries agree only if all columns do.
fn identity(entry: &StoredEntry) -> String {
    format!("{entry:?}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vademecum_core::audit::{AuditEntry, AuditOutcome};
    use vademecum_testing::{MemoryArchive, follow_plain_tables};

    use super::{
        super::{AuditFilter, open_audit_log},
        *,
    };

    /// Returns a data folder that follows an archive.
    fn follow(folder: &tempfile::TempDir, archive: &Arc<MemoryArchive>) -> DataFolder {
        DataFolder::new(folder.path().to_owned(), Some(follow_plain_tables(archive)))
    }

    fn call(number: usize) -> AuditEntry {
        let call = AuditEntry::new("tools/call", "http", AuditOutcome::Ok);
        AuditEntry { arguments: Some(number.to_string()), ..call }
    }

    /// Returns the numbers of the calls in the log, in ascending order.
    fn numbers(data: &DataFolder) -> Vec<usize> {
        let mut numbers = Vec::new();
        let log = AuditStore::new(data);
        log.for_each(&AuditFilter::default(), |row| {
            numbers.push(row.arguments.unwrap().parse().unwrap());
        })
        .unwrap();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn entries_of_outage_are_delivered_once() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let archive = Arc::new(MemoryArchive::default());
        let data = follow(&here, &archive);
        let limits = config::Audit::default();
        let log = open_audit_log(&limits, &data);
        let record = |numbers: std::ops::Range<usize>| {
            numbers.for_each(|number| log.record(call(number)));
            log.flush();
        };
        record(0..3);
        archive.set_lost(true);
        record(3..1_200);
        assert_eq!(log.lost_entries(), 0);
        // The program ends during the outage, and another one delivers what it has kept.
        drop(log);
        archive.set_lost(false);
        let data = follow(&here, &archive);
        let log = open_audit_log(&limits, &data);
        log.record(call(1_200));
        log.flush();
        assert_eq!(log.lost_entries(), 0);
        assert_eq!(numbers(&follow(&there, &archive)), (0..=1_200).collect::<Vec<_>>());
        assert!(AuditSpool::of(&data).unwrap().first_entries().unwrap().is_empty());
    }

    #[test]
    fn entry_that_log_has_is_not_added() {
        let folder = tempfile::tempdir().unwrap();
        let data = follow(&folder, &Arc::new(MemoryArchive::default()));
        let (log, spool) = (AuditStore::new(&data), AuditSpool::of(&data).unwrap());
        let limits = config::Audit::default();
        let mut batch = AuditBatch::default();
        (0..3).for_each(|number| batch.push(call(number)));
        // The archive stored the batch, and its answer was lost.
        log.append(&batch, &limits, false).unwrap();
        batch.push(call(3));
        spool.keep(&batch, &limits).unwrap();
        assert!(spool.deliver(&log, &limits, false).unwrap());
        spool.keep(&batch, &limits).unwrap();
        assert!(spool.deliver(&log, &limits, false).unwrap());
        assert_eq!(numbers(&data), [0, 1, 2, 3]);
    }

    #[test]
    fn entries_are_kept_while_delivery_waits() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(MemoryArchive::default());
        let log = open_audit_log(&config::Audit::default(), follow(&folder, &archive));
        log.record(call(0));
        log.flush();
        // The archive takes no write now, like one that does not answer.
        let waiting = archive.hold_writes();
        log.record(call(1));
        let kept = AuditSpool::of(&follow(&folder, &archive)).unwrap();
        let count = || kept.first_entries().unwrap().len();
        while count() < 1 {
            std::thread::yield_now();
        }
        log.record(call(2));
        while count() < 2 {
            std::thread::yield_now();
        }
        drop(waiting);
        log.flush();
        assert_eq!(numbers(&follow(&folder, &archive)), [0, 1, 2]);
    }
}
