//! Moves one database out of the archive.

use std::{fs, time::Duration};

use vademecum_model::Deadline;
use vademecum_replication::ArchivedStore;
use vademecum_store::{Archive, FileState, Store, StoreError, database_files};

use super::{error::DatabaseProblem, report::Outcome, upload::find_head};
use crate::file_error::FileError;

/// Maximum time to wait for the lock of a file.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of times that a database is fetched because others changed it meanwhile.
const MAX_ATTEMPTS: usize = 5;

/// Relation of the local file to the database in the archive.
enum LocalFile {
    /// The archive does not have the database.
    NotArchived,
    /// The file has the same rows, and follows no archive.
    Fetched,
    /// The file can follow the archive, or does not exist.
    Fetchable,
    /// The file follows no archive, and has only the rows of a new database.
    Empty,
}

/// Fetches a database from the archive. Its file follows no archive afterwards.
pub(super) fn download_database(
    store: &Store,
    archive: &dyn Archive,
) -> Result<Outcome, DatabaseProblem> {
    match compare_file(store, archive)? {
        LocalFile::NotArchived => {
            // A file that was opened and never written to may be marked.
            if let FileState::Following(_) = store.file_state()? {
                store.forget_archive()?;
            }
            return Ok(Outcome::Absent);
        }
        LocalFile::Fetched => return Ok(Outcome::Unchanged),
        LocalFile::Empty => remove_files(store)?,
        LocalFile::Fetchable => {}
    }
    for _ in 0..MAX_ATTEMPTS {
        // A read fetches what is missing.
        store.read(Deadline::after(READ_TIMEOUT), |_| Ok::<_, StoreError>(()))?;
        let own = store.digest_rows()?;
        let (head, archived) = store.digest_archived_rows()?;
        let is_current = match store.file_state()? {
            FileState::Following(state) => (state.seq, state.write) == (head.seq, head.write),
            FileState::Missing | FileState::Own | FileState::Uploading(_) => false,
        };
        if is_current && own == archived {
            store.detach()?;
            return Ok(Outcome::Moved(own.rows(), own.bytes()));
        }
        if is_current {
            return Err(DatabaseProblem::Unequal(store.path().to_owned()));
        }
    }
    Err(DatabaseProblem::Busy)
}

/// Returns what [`download_database`] would do.
pub(super) fn plan_download(
    store: &Store,
    archive: &dyn Archive,
) -> Result<Outcome, DatabaseProblem> {
    match compare_file(store, archive)? {
        LocalFile::NotArchived => Ok(Outcome::Absent),
        LocalFile::Fetched => Ok(Outcome::Unchanged),
        LocalFile::Empty | LocalFile::Fetchable => {
            let (_, archived) = store.digest_archived_rows()?;
            Ok(Outcome::Moved(archived.rows(), archived.bytes()))
        }
    }
}

/// Returns an error if the local file has rows that fetching would replace.
pub(super) fn check_download(store: &Store, archive: &dyn Archive) -> Result<(), DatabaseProblem> {
    compare_file(store, archive).map(drop)
}

fn compare_file(store: &Store, archive: &dyn Archive) -> Result<LocalFile, DatabaseProblem> {
    let path = || store.path().to_owned();
    let is_archived = find_head(store, Some(archive))?.seq > 0;
    match (store.file_state()?, is_archived) {
        (FileState::Following(head), false) if head.seq > 0 => {
            Err(DatabaseProblem::OtherArchive(path()))
        }
        (_, false) => Ok(LocalFile::NotArchived),
        (FileState::Missing | FileState::Following(_), true) => Ok(LocalFile::Fetchable),
        (FileState::Own | FileState::Uploading(_), true) => {
            let own = store.digest_rows()?;
            // Creating the file may have been interrupted before it had tables.
            if own.rows() == 0 || own == store.initial_digests()? {
                return Ok(LocalFile::Empty);
            }
            let (_, archived) = store.digest_archived_rows()?;
            if own == archived {
                return Ok(LocalFile::Fetched);
            }
            Err(DatabaseProblem::WouldReplace(path()))
        }
    }
}

fn remove_files(store: &Store) -> Result<(), FileError> {
    for path in database_files(store.path()) {
        if path.exists() {
            let message = || format!("cannot remove {}", path.display());
            fs::remove_file(&path).map_err(FileError::with_message(message))?;
        }
    }
    Ok(())
}
