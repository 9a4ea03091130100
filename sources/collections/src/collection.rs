//! One collection: its database file and the cached codes of its vectors.

use std::{
    any::Any,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::named_params;
use vademecum_model::Deadline;
use vademecum_source::SourceError;
use vademecum_store::{Database, Durability, Reader, Store, Writer};

use crate::code_cache::CodeCache;

/// Sets an option of the full-text table, or runs one of its commands.
const CONFIGURE_FTS_SQL: &str =
    "INSERT INTO rag_fts_chunks (rag_fts_chunks, rank) VALUES (:name, :value)";

/// Options of FTS5: its defaults, and the memory for new words during a bulk load.
const HASH_BYTES: i64 = 1 << 20;
const AUTOMERGE: i64 = 4;
const BULK_HASH_BYTES: i64 = 64 << 20;

/// A collection. Creating the value does no I/O: the file is opened on the first read or write.
#[derive(Clone)]
pub struct Collection {
    store: Arc<Store>,
    pub(crate) code_cache: Arc<CodeCache>,
    pub(crate) indexes: CollectionIndexes,
    /// A value that is dropped after the last copy of the collection.
    lease: Option<Arc<dyn Any + Send + Sync>>,
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

    /// Returns the collection whose database is this store.
    pub fn in_store(store: Store) -> Self {
        Self::new(store, CollectionIndexes::TextAndVectors)
    }

    /// Returns the vector index over the sources of the library in this folder. It has no full-text
    /// index.
    pub fn library_index(library: &Path) -> Self {
        Self::new(Store::new(Database::Index, library), CollectionIndexes::VectorsOnly)
    }

    fn new(store: Store, kind: CollectionIndexes) -> Self {
        Self { store: Arc::new(store), code_cache: Arc::default(), indexes: kind, lease: None }
    }

    /// Keeps `lease` until the last copy of the collection is dropped and its file is closed.
    #[must_use]
    pub fn with_lease(self, lease: impl Any + Send + Sync) -> Self {
        Self { lease: Some(Arc::new(lease)), ..self }
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

    /// Prepares a new file for many documents, which are then written with
    /// [`Durability::Deferred`]. See [`Store::begin_bulk_load`].
    pub fn begin_bulk_load(&self) -> Result<(), SourceError> {
        self.store.begin_bulk_load()?;
        self.configure_full_text(&[("hashsize", BULK_HASH_BYTES), ("automerge", 0)])
    }

    /// Completes a bulk load: the file is on disk.
    pub fn finish_bulk_load(&self) -> Result<(), SourceError> {
        let defaults = [("hashsize", HASH_BYTES), ("automerge", AUTOMERGE)];
        self.configure_full_text(&defaults)?;
        Ok(self.store.finish_bulk_load()?)
    }

    fn configure_full_text(&self, options: &[(&str, i64)]) -> Result<(), SourceError> {
        self.write(Durability::Deferred, |writer| {
            for (name, value) in options {
                let parameters = named_params! { ":name": name, ":value": value };
                writer.execute(CONFIGURE_FTS_SQL, parameters)?;
            }
            Ok(())
        })
    }

    /// Runs `work` in one transaction, which is rolled back if `work` fails.
    pub fn write<T>(
        &self,
        durability: Durability,
        work: impl FnMut(&Writer<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.write(durability, work)
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Collection")
            .field("store", &self.store)
            .field("indexes", &self.indexes)
            .field("is_leased", &self.lease.is_some())
            .finish_non_exhaustive()
    }
}
