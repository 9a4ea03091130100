//! A data folder, and the archive that its databases follow.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Database, Replication, Store};

/// A data folder. Its databases follow an archive if there is one.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
    archive: Option<Arc<dyn Replication>>,
}

impl DataFolder {
    /// File with the identity of the archive that the databases follow.
    pub const ARCHIVE_ID_FILE: &str = "archive.id";

    /// Returns the folder at `path`, whose databases follow `archive`.
    pub fn new(path: PathBuf, archive: Option<Arc<dyn Replication>>) -> Self {
        Self { path, archive }
    }

    /// Returns the path on this machine, also if the databases follow an archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the connection to the archive.
    pub fn archive(&self) -> Option<&Arc<dyn Replication>> {
        self.archive.as_ref()
    }

    /// Returns a database of the server itself, which follows the archive if there is one.
    pub fn server_store(&self, database: Database) -> Store {
        let store = Store::new(database, &self.path);
        match &self.archive {
            Some(archive) => archive.follow_server(store),
            None => store,
        }
    }

    /// Returns a database of a user's library, which is in `folder`.
    pub fn library_store(&self, database: Database, folder: &Path, user: &str) -> Store {
        let store = Store::new(database, folder);
        match &self.archive {
            Some(archive) => archive.follow_library(store, user),
            None => store,
        }
    }

    /// Returns the databases of a user's library, which is in `folder`, without derived ones.
    pub fn library_stores(&self, folder: &Path, user: &str) -> [Store; 4] {
        Database::LIBRARY.map(|database| self.library_store(database, folder, user))
    }

    /// Returns the database of a collection.
    pub fn collection_store(&self, path: PathBuf) -> Store {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let store = Store::with_path(Database::Collection, path);
        match &self.archive {
            Some(archive) => archive.follow_collection(store, &file),
            None => store,
        }
    }
}

impl From<&Path> for DataFolder {
    fn from(path: &Path) -> Self {
        Self::new(path.to_owned(), None)
    }
}

impl From<&PathBuf> for DataFolder {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&Self> for DataFolder {
    fn from(data: &Self) -> Self {
        data.clone()
    }
}
