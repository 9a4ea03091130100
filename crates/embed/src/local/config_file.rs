//! What the types of models have in common in `config.json`.

use std::fmt;

use super::{activation::Activation, error::FolderError};

/// Name of the file.
pub(super) const CONFIG: &str = "config.json";

/// Returns the error for a `config.json` with wrong content.
pub(super) fn malformed_config(reason: &dyn fmt::Display) -> FolderError {
    FolderError::Malformed { file: CONFIG.to_owned(), reason: reason.to_string() }
}

/// Returns the error for a type of models that is not supported.
pub(super) fn unsupported_model(what: String) -> FolderError {
    FolderError::Unsupported {
        file: CONFIG.to_owned(),
        what,
        supported: "BERT, RoBERTa and XLM-RoBERTa with absolute positions, ModernBERT, all with GELU, and \
                    static tables are",
    }
}

/// Returns the activation with a name of `config.json`.
pub(super) fn read_activation(name: &str) -> Result<Activation, FolderError> {
    Activation::from_name(name).ok_or_else(|| unsupported_model(format!("the activation `{name}`")))
}
