//! Local embedding of a build without it: opening a model reports that.

use super::{EmbedError, Embedder, Model, Purpose, SetupError};
use vademecum_core::config::Embeddings;

/// Local model that cannot be opened.
#[derive(Debug)]
pub enum LocalEmbedder {}

impl LocalEmbedder {
    /// Always fails.
    pub fn open(_: &Embeddings) -> Result<Self, SetupError> {
        Err(SetupError::NotBuiltIn { provider: "local", feature: "local-model" })
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &Model {
        match *self {}
    }

    fn embed(&self, _: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        match *self {}
    }
}
