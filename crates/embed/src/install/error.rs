//! Errors of installing models.

use std::{io, path::Path};

use vademecum_store::StoreError;

use crate::SetupError;

/// The reason why a model cannot be installed.
#[expect(missing_docs, reason = "names of models and files, addresses without logins")]
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The source is none of the forms.
    #[error(
        "`{text}` is no model: name one of `vademecum model list`, a repository such as \
         minishlab/potion-base-8M, an address that begins with https://, or a folder"
    )]
    UnknownSource { text: String },
    /// The name is no name of a folder.
    #[error("`{name}` is no name for a model: use letters, digits, `-`, `_` and `.`")]
    InvalidName { name: String },
    /// An address is not encrypted.
    #[error("{address} is not encrypted; only addresses on this machine may begin with http://")]
    PlainHttp { address: String },
    /// A server cannot be reached, or broke off.
    #[error("{address} cannot be read: {reason}; run the command again to go on")]
    Unreachable { address: String, reason: String },
    /// A server refused.
    #[error("{address} answered HTTP {status}{hint}")]
    Refused {
        address: String,
        status: u16,
        /// What to do, after a semicolon; may be empty.
        hint: &'static str,
    },
    /// A list of files cannot be used.
    #[error("{address} cannot be used: {reason}")]
    Malformed { address: String, reason: String },
    /// A file is not what its list says.
    #[error(
        "{file} is damaged or was replaced: its digest is {found}, and the list says {expected}"
    )]
    WrongDigest { file: String, found: String, expected: String },
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    /// A folder cannot be created.
    #[error(transparent)]
    Folder(#[from] StoreError),
    /// Another process installs the same model.
    #[error("the model {name} is being installed by another process")]
    Running { name: String },
    /// The files are no model that can be loaded.
    #[error(transparent)]
    Unusable(#[from] SetupError),
}

impl InstallError {
    /// Creates the error for a file or folder.
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}
