//! Applying many items of another machine, in transactions of bounded size.

use vademecum_model::SourceName;
use vademecum_source::SourceError;
use vademecum_store::{Durability, StoreError};

use crate::{
    SyncError,
    apply::{Applied, Applier, MissingReferences},
    database::SyncedDatabase,
    outgoing::size_of_record,
    record::ItemRecord,
    replica::ReplicaId,
    report::SyncReport,
    state::Place,
};

/// Number of items that are applied in one transaction.
const MAX_ITEMS: usize = 200;
/// Size of the items after which a transaction ends, in bytes.
const MAX_BYTES: u64 = 4 * 1_024 * 1_024;

/// Items that are to be applied.
pub(crate) struct Incoming<'a> {
    pub(crate) database: &'a SyncedDatabase,
    pub(crate) replica: &'a ReplicaId,
    pub(crate) place: Place<'a>,
    pub(crate) missing: MissingReferences,
    records: Vec<ItemRecord>,
    bytes: u64,
    /// Keys of the items that are to be read again, because they refer to items that are not known.
    pub(crate) waiting: Vec<(SourceName, String)>,
    /// Items that could not be applied, with the reason.
    pub(crate) problems: Vec<String>,
    /// Keys of these items.
    pub(crate) refused: Vec<(SourceName, String)>,
}

impl<'a> Incoming<'a> {
    pub(crate) fn new(
        database: &'a SyncedDatabase,
        replica: &'a ReplicaId,
        place: Place<'a>,
        missing: MissingReferences,
    ) -> Self {
        Self {
            database,
            replica,
            place,
            missing,
            records: Vec::new(),
            bytes: 0,
            waiting: Vec::new(),
            problems: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Adds an item, and applies those that wait if they are many.
    pub(crate) fn push(
        &mut self,
        record: ItemRecord,
        report: &mut SyncReport,
    ) -> Result<(), SyncError> {
        self.bytes += size_of_record(&record);
        self.records.push(record);
        if self.records.len() < MAX_ITEMS && self.bytes < MAX_BYTES {
            return Ok(());
        }
        self.flush(report)
    }

    /// Applies the items that wait, in one transaction; if one of them cannot be, each in its own.
    pub(crate) fn flush(&mut self, report: &mut SyncReport) -> Result<(), SyncError> {
        self.bytes = 0;
        let records = std::mem::take(&mut self.records);
        match self.apply(&records, report) {
            Err(error) if is_of_item(&error) => {}
            done => return done,
        }
        for record in &records {
            match self.apply(std::slice::from_ref(record), report) {
                Err(error) if is_of_item(&error) => {
                    let (source, key) = (record.source, &record.key);
                    self.problems.push(format!("{source} {key}: not taken over: {error}"));
                    self.refused.push((source, key.clone()));
                }
                done => done?,
            }
        }
        Ok(())
    }

    fn apply(&mut self, records: &[ItemRecord], report: &mut SyncReport) -> Result<(), SyncError> {
        if records.is_empty() {
            return Ok(());
        }
        let (database, replica) = (self.database, self.replica);
        let (place, missing) = (self.place, self.missing);
        let (done, waiting) = database.store().write(Durability::Full, |writer| {
            let (mut done, mut waiting) = (SyncReport::default(), Vec::new());
            let mut applier =
                Applier { database, replica, writer, place, missing, report: &mut done };
            for record in records {
                if applier.apply(record.clone())? == Applied::Waiting {
                    waiting.push((record.source, record.key.clone()));
                }
            }
            Ok::<_, SyncError>((done, waiting))
        })?;
        report.add(done);
        self.waiting.extend(waiting);
        Ok(())
    }
}

/// Returns `true` for an error that concerns one item only.
fn is_of_item(error: &SyncError) -> bool {
    let is_damage = |error: &StoreError| matches!(error, StoreError::DamagedItem { .. });
    match error {
        SyncError::Source(SourceError::Refused(_) | SourceError::NotFound { .. }) => true,
        SyncError::Store(error) | SyncError::Source(SourceError::Store(error)) => is_damage(error),
        _ => false,
    }
}
