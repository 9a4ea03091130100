//! What can be wrong with the folder of a model.

use std::io;

/// Why a folder holds no model that can be used. Each says in which file, and
/// where somebody can do something about it, what.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    /// A file is not there.
    #[error(
        "`{file}` is missing; the folder must be whole, as sentence-transformers saves a model"
    )]
    Missing {
        /// Which file.
        file: String,
    },
    /// The weights are there, but in a format that runs code when it is read.
    #[error(
        "`model.safetensors` is missing and `{file}` is not read; save the model again with \
         safetensors (`model.save(folder, safe_serialization=True)`)"
    )]
    NotSafetensors {
        /// What is there in its place.
        file: String,
    },
    /// A file cannot be read.
    #[error("`{file}` cannot be read: {source}")]
    Unreadable {
        /// Which file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// A file is longer than any such file is.
    #[error("`{file}` has {found} bytes where at most {limit} are expected")]
    TooLong {
        /// Which file, or which part of one.
        file: String,
        /// How long it is.
        found: u64,
        /// How long it may be.
        limit: u64,
    },
    /// A file is not what its name says.
    #[error("`{file}` cannot be understood: {reason}")]
    Malformed {
        /// Which file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// The model is of a kind that is not run here.
    #[error("`{file}` asks for {what}, which is not supported; {supported}")]
    Unsupported {
        /// In which file it stands.
        file: String,
        /// What it asks for.
        what: String,
        /// What there is instead.
        supported: &'static str,
    },
    /// The weights lack something.
    #[error("`{file}` has no tensor `{tensor}`, which a BERT encoder takes")]
    NoTensor {
        /// In which file.
        file: String,
        /// What it lacks.
        tensor: String,
    },
    /// Weights and settings are of two models.
    #[error(
        "`{file}` has `{tensor}` with the shape {found:?} where `config.json` takes {expected:?}"
    )]
    Shape {
        /// In which file.
        file: String,
        /// Which tensor.
        tensor: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape it should have.
        expected: Vec<usize>,
    },
    /// The weights are broken.
    #[error("`{file}` has numbers in `{tensor}` that are not finite: it is damaged")]
    NotFinite {
        /// In which file.
        file: String,
        /// Which tensor.
        tensor: String,
    },
    /// The settings want longer or shorter vectors.
    #[error("embeddings.dimensions is {wanted}, and the model makes vectors of {found} numbers")]
    Dimensions {
        /// How long they want them.
        wanted: usize,
        /// How long they are.
        found: usize,
    },
    /// The machine gives no thread.
    #[error("there is no thread to run it on: {0}")]
    NoThread(String),
}
