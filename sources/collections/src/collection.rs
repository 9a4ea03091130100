//! One collection: its database file and the cached codes of its vectors.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_kit::{
    model::Deadline,
    source::SourceError,
    store::{Database, Durability, Reader, Store, Writer},
};

use crate::nearest::CodeCache;

/// A collection. Creating the value does no I/O: the file is opened on the first read or write.
#[derive(Clone, Debug)]
pub struct Collection {
    store: Arc<Store>,
    pub(crate) code_cache: Arc<CodeCache>,
    pub(crate) indexes: CollectionIndexes,
}

/// The indexes that a collection maintains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionIndexes {
    /// Full-text index and vectors.
    TextAndVectors,
    /// Vectors only: the full-text index is in the library.
    VectorsOnly,
}

impl Collection {
    /// Returns the collection in this file.
    pub fn at(path: PathBuf) -> Self {
        Self::new(Store::with_path(Database::Collection, path), CollectionIndexes::TextAndVectors)
    }

    /// Returns the vector index over the sources of the library in this folder. It has no full-text
    /// index.
    pub fn library_index(library: &Path) -> Self {
        Self::new(Store::new(Database::Index, library), CollectionIndexes::VectorsOnly)
    }

    fn new(store: Store, kind: CollectionIndexes) -> Self {
        Self { store: Arc::new(store), code_cache: Arc::default(), indexes: kind }
    }

    /// Returns the database file.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Reads from one consistent snapshot.
    pub fn read<T>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&Reader<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.read(deadline, work)
    }

    /// Runs `work` in one transaction, which is rolled back if `work` fails.
    pub fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Writer<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.write(durability, work)
    }
}
