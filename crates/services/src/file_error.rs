//! The error of an operation on files.

use std::{fmt::Display, io};

/// Error of an operation on files. Its message says what could not be done; its source says why.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    message: String,
    source: io::Error,
}

impl FileError {
    /// Returns a conversion of an I/O error that adds the message.
    pub(crate) fn with_message<D: Display>(
        message: impl FnOnce() -> D,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { message: message().to_string(), source }
    }
}
