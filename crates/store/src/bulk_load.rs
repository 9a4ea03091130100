//! Filling a new file at once, without a journal.

use std::fs;

use super::{
    Store, StoreError,
    file::{CONNECTION_CACHE_KIB, lock},
};

/// Page size of a file that is filled at once, in bytes. Rows with vectors of 384 dimensions waste a
/// fifth of smaller pages.
const BULK_PAGE_BYTES: u32 = 8_192;
/// Page cache limit of the connection that fills a new file.
const BULK_CACHE_KIB: i64 = -32_768;

impl Store {
    /// Prepares a new file for writes with
    /// [`Durability::Deferred`](crate::Durability::Deferred): without a journal, so that each
    /// page is written once. Until [`finish_bulk_load`](Self::finish_bulk_load), a failed write or a
    /// crash leaves a damaged file, which must be removed.
    pub fn begin_bulk_load(&self) -> Result<(), StoreError> {
        self.set_journal("off", BULK_CACHE_KIB)?;
        let open = self.open()?;
        // The new page size takes effect when the file is rewritten.
        let resized = lock(&open.writer)
            .execute_batch(&format!("PRAGMA page_size = {BULK_PAGE_BYTES}; VACUUM"));
        resized.map_err(|error| StoreError::from_file(self.path(), error))
    }

    /// Completes a bulk load: the file is on disk, and has a journal again.
    pub fn finish_bulk_load(&self) -> Result<(), StoreError> {
        self.set_journal("wal", CONNECTION_CACHE_KIB)?;
        let synced = fs::File::options().append(true).open(self.path());
        synced.and_then(|file| file.sync_all()).map_err(|source| {
            StoreError::from_file(
                self.path(),
                rusqlite::Error::ToSqlConversionFailure(source.into()),
            )
        })
    }

    fn set_journal(&self, journal: &str, cache_kib: i64) -> Result<(), StoreError> {
        let open = self.open()?;
        let connection = lock(&open.writer);
        let set = connection
            .pragma_update(None, "cache_size", cache_kib)
            .and_then(|()| connection.pragma_update(None, "journal_mode", journal));
        set.map_err(|error| StoreError::from_file(self.path(), error))
    }
}
