//! Taking databases out of an archive, and replacing them there.

use std::time::Instant;

use super::{
    Upload,
    follower::{forget_state, read_state},
};
use crate::store::{Store, StoreError, file::open_connection};

impl Store {
    /// Brings the file up to date with the archive that it follows. Without one it does nothing. The
    /// file is created if the archive may have rows.
    pub fn follow(&self) -> Result<(), StoreError> {
        if self.follower.is_none() {
            return Ok(());
        }
        self.catch_up(&*self.open()?, Instant::now())
    }

    /// Returns whether the archive has rows of this database; `false` without an archive.
    pub fn has_archived_rows(&self) -> Result<bool, StoreError> {
        let Some(follower) = &self.follower else { return Ok(false) };
        let part = follower.group.part(follower.index);
        Ok(follower.group.archive().head(part)?.seq > 0)
    }

    /// Removes the rows from the archive. The file stays as it is; other servers discard their copies.
    pub fn remove_archived(&self) -> Result<(), StoreError> {
        let Some(follower) = &self.follower else { return Ok(()) };
        Ok(follower.group.archive().remove_part(follower.group.part(follower.index))?)
    }

    /// Replaces the rows in the archive by those of the file, which must not be open. If it is
    /// interrupted, the file does not follow the archive, and can be uploaded.
    pub fn replace_archived(&self) -> Result<(), StoreError> {
        if self.follower.is_none() {
            return Ok(());
        }
        // Migrates the file.
        Self::with_path(self.database(), self.path().to_owned()).open()?;
        let connection = open_connection(self.path())?;
        if read_state(&connection)?.is_some_and(|state| state.seq > 0) {
            forget_state(&connection)?;
        }
        drop(connection);
        self.remove_archived()?;
        match self.upload()? {
            Upload::Stored(_) | Upload::Unchanged => Ok(()),
            // Another server has stored the first write in between.
            Upload::Occupied | Upload::Unequal => Err(StoreError::Conflict),
        }
    }
}
