//! Rows that an earlier version stored in another form. They are read as they are, and brought into the
//! present form in the background.

use std::{thread, time::Duration};

use vademecum_model::Deadline;
use vademecum_store::{Durability, Store, StoreError};

use crate::{Source, SourceError};

/// Maximum time to find out whether there are such rows.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);
/// Time between two transactions, in which other writers get their turn.
const PAUSE: Duration = Duration::from_millis(1);

/// Returns whether some rows of a source may still have the form of an earlier version.
pub fn are_rows_earlier(source: &dyn Source, store: &Store) -> Result<bool, StoreError> {
    store.read(Deadline::after(CHECK_TIMEOUT), |reader| source.has_earlier_rows(reader))
}

/// Brings all rows of a source into the present form, in several transactions, so that writers need not
/// wait. If the process ends before, the next call continues. Returns whether there was something to do.
pub fn update_all_earlier_rows(source: &dyn Source, store: &Store) -> Result<bool, SourceError> {
    if !store.path().exists() || !are_rows_earlier(source, store)? {
        return Ok(false);
    }
    while store.write(Durability::Bulk, |writer| source.update_earlier_rows(writer))? {
        thread::sleep(PAUSE);
    }
    Ok(true)
}
