//! The items that a target does not have yet.

use std::{io, time::Duration};

use vademecum_model::Deadline;
use vademecum_source::{Source, SourceError, list_item_origins};
use vademecum_store::{Durability, Reader, ShownRows, StoreError};
use vademecum_vault::journal::{ExportedVersions, export_all_versions, import_base};

use crate::{
    SyncError,
    database::SyncedDatabase,
    record::{ItemRecord, fingerprint},
    references::forget_deleted_references,
    state::{Place, SyncedItem},
};

/// Maximum number of items of a batch.
const MAX_ITEMS: usize = 1_000;
/// Size of the items after which a batch ends, in bytes. A larger item is a batch of its own.
const BATCH_BYTES: u64 = 8 * 1_024 * 1_024;
/// Number of changes of an item that others may know in part.
const LATEST_CHANGES: usize = 64;
/// Size of the changes of an item that others may know in part, in bytes.
const LATEST_BYTES: usize = 256 * 1_024;
/// Maximum time to read a batch.
const READ_TIMEOUT: Duration = Duration::from_hours(1);

/// Some items that a target does not have.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The items, with the numbers of their rows.
    pub(crate) records: Vec<(i64, ItemRecord)>,
    /// Number of the last row that was looked at; `None` if there is no further one.
    pub(crate) last: Option<i64>,
}

/// Reads the next items after a row that a target does not have.
pub(crate) fn next_batch(
    database: &SyncedDatabase,
    target: &str,
    after: i64,
) -> Result<Batch, SyncError> {
    database.store().read(Deadline::after(READ_TIMEOUT), |reader| {
        let (mut batch, mut bytes) = (Batch::default(), 0);
        for item in SyncedItem::unplaced(reader, target, after, MAX_ITEMS)? {
            batch.last = Some(item.number);
            let Some(source) = database.source(item.source) else { continue };
            let number = item.number;
            let Some(record) = load_record(reader, source, item)? else { continue };
            bytes += size_of_record(&record);
            batch.records.push((number, record));
            if bytes > BATCH_BYTES {
                break;
            }
        }
        Ok::<_, SyncError>(batch)
    })
}

/// Returns the size of an item with its versions, in bytes of JSON.
pub(crate) fn size_of_record(record: &ItemRecord) -> u64 {
    let mut counter = ByteCounter(0);
    // Counting does not fail, and records can always be written as JSON.
    serde_json::to_writer(&mut counter, record).ok();
    counter.0
}

/// A writer that counts the bytes.
struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Loads an item as it is exchanged. `None` if it was changed since its revision was recorded, or is
/// damaged: the next sync has it.
fn load_record(
    reader: &Reader<'_>,
    source: &dyn Source,
    item: SyncedItem,
) -> Result<Option<ItemRecord>, SyncError> {
    let mut record = ItemRecord {
        source: item.source,
        key: item.key,
        id: item.item.clone(),
        revision: item.revision,
        fingerprint: item.fingerprint,
        history: item.history,
        body: None,
        image: None,
        versions: ExportedVersions::default(),
        origins: Vec::new(),
        import_base: None,
    };
    let Some(id) = item.item else { return Ok(Some(record)) };
    let is_first = record.history.is_empty();
    record.versions = export_all_versions(source, reader, &id)?.unwrap_or_default();
    if !is_first {
        keep_latest(&mut record.versions);
    }
    if record.fingerprint.is_empty() {
        return Ok(Some(record));
    }
    let body = reader
        .verify_item(item.source, &id, ShownRows::Versions)
        .map_err(SourceError::from)
        .and_then(|()| source.load_draft(reader, &id));
    let mut body = match body {
        Ok(draft) => draft.body,
        Err(SourceError::NotFound { .. } | SourceError::Store(StoreError::DamagedItem { .. })) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    if fingerprint(&body)? != record.fingerprint {
        return Ok(None);
    }
    forget_deleted_references(reader, &mut body)?;
    record.versions.version = read_version(reader, source, &id)?;
    record.body = Some(body);
    record.origins = list_item_origins(reader, item.source, &id)?;
    if record.origins.iter().any(|origin| origin.is_changed) {
        record.import_base = import_base(reader, item.source, &id)?;
    }
    Ok(Some(record.with_image()))
}

fn read_version(reader: &Reader<'_>, source: &dyn Source, id: &str) -> Result<i64, StoreError> {
    let Some(statements) = source.item_statements() else { return Ok(1) };
    let this = rusqlite::named_params! { ":id": id };
    let found = reader.query_first(statements.version_sql, this, |row| row.get("version"))?;
    Ok(found.unwrap_or(1))
}

/// Leaves out older changes, which other machines have.
fn keep_latest(versions: &mut ExportedVersions) {
    let mut bytes = 0;
    let count = versions.changes.iter().take(LATEST_CHANGES).take_while(|change| {
        bytes += serde_json::to_string(change).map_or(0, |text| text.len());
        bytes <= LATEST_BYTES
    });
    let count = count.count().max(1);
    versions.changes.truncate(count);
}

/// Records that a target has the items of a batch, unless they were changed since they were read.
pub(crate) fn place_batch(
    database: &SyncedDatabase,
    place: Place<'_>,
    records: &[(i64, ItemRecord)],
) -> Result<usize, SyncError> {
    database.store().write(Durability::Full, |writer| {
        let mut placed = 0;
        for (number, record) in records {
            let found = SyncedItem::by_key(writer, record.source, &record.key)?;
            let is_same = |it: &SyncedItem| {
                it.number == *number
                    && it.revision == record.revision
                    && it.fingerprint == record.fingerprint
            };
            if found.as_ref().is_some_and(is_same) {
                place.put(writer, *number)?;
                placed += 1;
            }
        }
        Ok::<_, SyncError>(placed)
    })
}
