//! One collection: its file, and what is kept in memory of its vectors.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_kit::{
    model::Deadline,
    source::SourceError,
    store::{Database, Durability, Reader, Store, Writer},
};

use crate::near::Vectors;

/// One collection. Making one touches nothing: the file is opened when it is
/// first read or written.
#[derive(Clone, Debug)]
pub struct Collection {
    store: Arc<Store>,
    pub(crate) vectors: Arc<Vectors>,
    pub(crate) kind: Kind,
}

/// What is kept of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Their words and their vectors.
    Whole,
    /// Their vectors: their words are in a library already.
    Vectors,
}

impl Collection {
    /// The collection in this file.
    pub fn at(path: PathBuf) -> Self {
        Self::new(Store::at(Database::Collection, path), Kind::Whole)
    }

    /// The index over the sources of the library in this folder: without words.
    pub fn index_of(library: &Path) -> Self {
        Self::new(Store::new(Database::Index, library), Kind::Vectors)
    }

    fn new(store: Store, kind: Kind) -> Self {
        Self { store: Arc::new(store), vectors: Arc::default(), kind }
    }

    /// Its file.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Reads from one moment's state.
    pub fn read<T>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&Reader<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.read(deadline, work)
    }

    /// Writes in one transaction: everything, or nothing at all.
    pub fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Writer<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.write(durability, work)
    }
}
