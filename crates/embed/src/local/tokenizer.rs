//! Tokenization of texts with the vocabulary of the model.

use tokenizers::{Tokenizer as HfTokenizer, TruncationParams};

use super::{
    error::FolderError,
    model_folder::{MAX_VOCABULARY_BYTES, ModelFolder},
    settings::ModelSettings,
};

const FILE: &str = "tokenizer.json";

/// Splits texts into tokens.
pub(super) struct Tokenizer {
    tokenizer: HfTokenizer,
    lower_case: bool,
}

impl Tokenizer {
    /// Reads the tokenizer. The maximum length comes from the model settings, and padding is off,
    /// whatever the file says.
    pub(super) fn read(
        folder: &mut ModelFolder,
        settings: &ModelSettings,
    ) -> Result<Self, FolderError> {
        let malformed = |error: tokenizers::Error| FolderError::Malformed {
            file: FILE.to_owned(),
            reason: error.to_string(),
        };
        let file = folder.read(FILE, MAX_VOCABULARY_BYTES)?;
        let mut tokenizer = HfTokenizer::from_bytes(file).map_err(malformed)?;
        let truncation =
            TruncationParams { max_length: settings.max_tokens, ..TruncationParams::default() };
        tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(malformed)?;
        Ok(Self { tokenizer, lower_case: settings.lower_case })
    }

    /// Returns the token ids of a text, with start and end tokens, truncated to the maximum length.
    pub(super) fn encode(&self, text: String) -> Result<Vec<u32>, tokenizers::Error> {
        let text = if self.lower_case { text.to_lowercase() } else { text };
        Ok(self.tokenizer.encode_fast(text, true)?.get_ids().to_vec())
    }
}
