//! Moves one database into the archive.

use vademecum_replication::{ArchivedStore, Upload};
use vademecum_store::{Archive, FileState, Head, Store, StoreError};

use super::{error::DatabaseProblem, report::Outcome};

/// Moves a database into the archive. Its file follows the archive afterwards.
pub(super) fn upload_database(store: &Store) -> Result<Outcome, DatabaseProblem> {
    let path = || store.path().to_owned();
    // A file that was created for this archive has nothing else, even if it was not filled yet.
    if let FileState::Following(_) = store.file_state()? {
        return Ok(Outcome::Unchanged);
    }
    match store.upload_verified()? {
        Upload::Stored(_) => count_rows(store),
        Upload::Unchanged => Ok(Outcome::Unchanged),
        Upload::Occupied => Err(DatabaseProblem::Occupied(path())),
        Upload::Unequal => Err(DatabaseProblem::Unequal(path())),
    }
}

/// Returns what [`upload_database`] would do. Without `archive`, the archive is empty.
pub(super) fn plan_upload(
    store: &Store,
    archive: Option<&dyn Archive>,
) -> Result<Outcome, DatabaseProblem> {
    let begun = match store.file_state()? {
        FileState::Missing => return Ok(Outcome::Absent),
        FileState::Following(_) => return Ok(Outcome::Unchanged),
        FileState::Uploading(write) => Some(write),
        FileState::Own => None,
    };
    let head = find_head(store, archive)?;
    if head.seq == 0 || begun == Some(head.write) {
        return count_rows(store);
    }
    let (_, archived) = store.digest_archived_rows()?;
    if archived == store.digest_rows()? {
        return Ok(Outcome::Unchanged);
    }
    Err(DatabaseProblem::Occupied(store.path().to_owned()))
}

/// Returns the head of a database in the archive.
pub(super) fn find_head(
    store: &Store,
    archive: Option<&dyn Archive>,
) -> Result<Head, DatabaseProblem> {
    let (Some(archive), Some(part)) = (archive, store.part()) else { return Ok(Head::default()) };
    Ok(archive.head(part).map_err(StoreError::from)?)
}

fn count_rows(store: &Store) -> Result<Outcome, DatabaseProblem> {
    let rows = store.digest_rows()?;
    Ok(Outcome::Moved(rows.rows(), rows.bytes()))
}
