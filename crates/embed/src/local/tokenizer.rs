//! Texts as pieces that the model knows.

use tokenizers::{Tokenizer as Pieces, TruncationParams};

use super::{
    error::FolderError,
    folder::{Folder, MAX_VOCABULARY_BYTES},
    settings::Settings,
};

const FILE: &str = "tokenizer.json";

/// Parts texts into pieces.
pub(super) struct Tokenizer {
    pieces: Pieces,
    lower_case: bool,
}

impl Tokenizer {
    /// Reads it. How long texts may be is the model's to say, and texts are never
    /// filled up, whatever the file says.
    pub(super) fn read(folder: &mut Folder, settings: &Settings) -> Result<Self, FolderError> {
        let malformed = |error: tokenizers::Error| FolderError::Malformed {
            file: FILE.to_owned(),
            reason: error.to_string(),
        };
        let file = folder.read(FILE, MAX_VOCABULARY_BYTES)?;
        let mut pieces = Pieces::from_bytes(file).map_err(malformed)?;
        let truncation =
            TruncationParams { max_length: settings.max_tokens, ..TruncationParams::default() };
        pieces.with_padding(None).with_truncation(Some(truncation)).map_err(malformed)?;
        Ok(Self { pieces, lower_case: settings.lower_case })
    }

    /// The pieces of a text, with its beginning and its end.
    pub(super) fn encode(&self, text: String) -> Result<Vec<u32>, tokenizers::Error> {
        let text = if self.lower_case { text.to_lowercase() } else { text };
        Ok(self.pieces.encode_fast(text, true)?.get_ids().to_vec())
    }
}
