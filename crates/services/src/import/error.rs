//! Errors of an import as a whole. A file that cannot be read is no error: the summary lists it.

use std::path::PathBuf;

use vademecum_model::SourceName;
use vademecum_source::SourceError;
use vademecum_store::StoreError;
use vademecum_tldw::TldwError;

/// Error that ends an import. Problems of single files are in the summary instead.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A source refused a request, such as a write to the replica of a tldw database.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A source failed as a whole.
    #[error("nothing can be saved")]
    Save(#[source] SourceError),
    /// The library does not have this source.
    #[error("source `{0}` is not available")]
    MissingSource(SourceName),
    /// A followed folder has none of the files that it had at the last import.
    #[error(
        "the folder {} has none of its {files} files of the last import: perhaps a file system is not \
         mounted there. Nothing is changed. If this is right, run `vademecum import` with the folder \
         once", path.display()
    )]
    LostFolder {
        /// The folder.
        path: PathBuf,
        /// Number of files of the last import.
        files: usize,
    },
    /// The directory of a tldw server cannot be used.
    #[error(transparent)]
    Tldw(#[from] TldwError),
    /// The system does not report changes of files.
    #[error("cannot watch files")]
    Watch(#[from] notify::Error),
    /// A file or folder cannot be watched.
    #[error("cannot watch {}", path.display())]
    WatchPath {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: notify::Error,
    },
}
