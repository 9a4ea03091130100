//! Errors of loading and running a local model.

use std::io;

use rten_gemm::GemmError;

/// The reason why a model cannot be loaded. Each message names the file and, where possible, the
/// remedy.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    /// A file does not exist.
    #[error(
        "`{file}` is missing; the folder must be complete, as sentence-transformers saves a model"
    )]
    Missing { file: String },
    /// The weights exist only in a format that can run code when it is read.
    #[error(
        "`model.safetensors` is missing and `{file}` is not read; save the model again with \
         safetensors (`model.save(folder, safe_serialization=True)`)"
    )]
    NotSafetensors {
        /// Name of the file in that format.
        file: String,
    },
    /// A file cannot be read.
    #[error("`{file}` cannot be read: {source}")]
    Unreadable { file: String, source: io::Error },
    /// The name of a file leads out of the folder.
    #[error("`{file}` is outside the folder of the model")]
    Outside { file: String },
    /// A file exceeds its maximum size.
    #[error("`{file}` has {found} bytes where at most {limit} are expected")]
    TooLong {
        /// Name of the file, or of the part of it.
        file: String,
        /// Size in bytes.
        found: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// A file has unexpected content.
    #[error("`{file}` cannot be understood: {reason}")]
    Malformed {
        file: String,
        /// Description of the defect.
        reason: String,
    },
    /// The model is of a type that the encoder does not support.
    #[error("`{file}` asks for {what}, which is not supported; {supported}")]
    Unsupported {
        /// Name of the file that says so.
        file: String,
        /// The unsupported feature.
        what: String,
        supported: &'static str,
    },
    /// The weights lack a tensor.
    #[error("`{file}` has no tensor `{tensor}`, which a model of this type has")]
    NoTensor { file: String, tensor: String },
    /// A tensor has not the shape that the configuration requires.
    #[error(
        "`{file}` has `{tensor}` with the shape {found:?} where `config.json` takes {expected:?}"
    )]
    Shape {
        file: String,
        tensor: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Required shape.
        expected: Vec<usize>,
    },
    /// A tensor has numbers that are not finite.
    #[error("`{file}` has numbers in `{tensor}` that are not finite: it is damaged")]
    NotFinite { file: String, tensor: String },
    /// `embeddings.dimensions` differs from the model.
    #[error(
        "embeddings.dimensions is {configured}, and the model makes vectors of {found} numbers"
    )]
    Dimensions {
        /// Number of dimensions in the settings.
        configured: usize,
        /// Number of dimensions of the model.
        found: usize,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    NoThread(String),
}

/// The reason why texts could not be encoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum EncodeError {
    /// The tokenizer and the weights belong to different models.
    #[error("the tokenizer made the token {0}, which is not in the vocabulary of the weights")]
    UnknownToken(u32),
    /// A text has more tokens than the model has positions.
    #[error("a text of {0} tokens is longer than the model has positions")]
    TooLong(usize),
    /// The tokenizer returned no token for a text, not even start and end.
    #[error("the tokenizer made no token of a text")]
    NoTokens,
    /// A matrix product failed because the sizes do not match.
    #[error("a product failed: {0}")]
    Product(#[from] GemmError),
}
