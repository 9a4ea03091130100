//! Tokenization of texts with the vocabulary of the model.

use serde::Deserialize;
use tokenizers::{Tokenizer as HfTokenizer, TruncationParams};

use super::{
    error::FolderError,
    model_folder::{MAX_VOCABULARY_BYTES, ModelFolder},
    settings::{ModelKind, ModelSettings},
};

const FILE: &str = "tokenizer.json";

/// Splits texts into tokens.
pub(super) struct Tokenizer {
    inner: HfTokenizer,
    lower_case: bool,
    /// Whether start and end tokens are added.
    has_ends: bool,
    /// The token of unknown words, if it is left out of texts that have other tokens.
    skipped: Option<u32>,
}

impl Tokenizer {
    /// Reads the tokenizer. The maximum length comes from the model settings, and padding is off,
    /// whatever the file says.
    pub(super) fn read(
        folder: &mut ModelFolder,
        settings: &ModelSettings,
    ) -> Result<Self, FolderError> {
        let table = match &settings.kind {
            ModelKind::Static(files) => Some(files),
            ModelKind::Bert(..) | ModelKind::Modern(..) => None,
        };
        let name = ModelFolder::join(table.map_or("", |files| &files.path), FILE);
        let malformed = |error: tokenizers::Error| FolderError::Malformed {
            file: name.clone(),
            reason: error.to_string(),
        };
        let file = folder.read(&name, MAX_VOCABULARY_BYTES)?;
        let mut tokenizer = HfTokenizer::from_bytes(&file).map_err(malformed)?;
        let truncation =
            TruncationParams { max_length: settings.max_tokens, ..TruncationParams::default() };
        tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(malformed)?;
        let skipped = table.filter(|files| files.skips_unknown).and_then(|_| {
            let UnknownToken { unk_token, unk_id } = UnknownToken::read(&file)?;
            unk_token.and_then(|token| tokenizer.token_to_id(&token)).or(unk_id)
        });
        let (lower_case, has_ends) = (settings.lower_case, table.is_none());
        Ok(Self { inner: tokenizer, lower_case, has_ends, skipped })
    }

    /// Returns the number of tokens in the vocabulary.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// Returns the token ids of a text, truncated to the maximum length. Those of an encoder have start and
    /// end tokens.
    pub(super) fn encode(&self, text: String) -> Result<Vec<u32>, tokenizers::Error> {
        let text = if self.lower_case { text.to_lowercase() } else { text };
        let tokens = self.inner.encode_fast(text, self.has_ends)?;
        let is_kept = |token: &u32| Some(*token) != self.skipped;
        let kept: Vec<u32> = tokens.get_ids().iter().copied().filter(is_kept).collect();
        Ok(match self.skipped {
            // A vector of zeros is close to nothing, not even to itself.
            Some(unknown) if kept.is_empty() => vec![unknown],
            _ => kept,
        })
    }
}

/// The token of unknown words in `tokenizer.json`, by its text or its number.
#[derive(Debug, Default, Deserialize)]
struct UnknownToken {
    unk_token: Option<String>,
    unk_id: Option<u32>,
}

impl UnknownToken {
    fn read(file: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct TokenizerFile {
            model: UnknownToken,
        }

        let file: TokenizerFile = serde_json::from_slice(file).ok()?;
        Some(file.model)
    }
}
