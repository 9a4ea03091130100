//! What every provider is: texts in, a vector for each out.

use std::fmt;

use super::EmbedError;

/// Makes vectors of texts.
///
/// It is asked for one batch at a time and may block: callers stand beside the
/// event loop. What it answers is checked and normalised by whoever asks.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// The model that makes the vectors.
    fn model(&self) -> &Model;

    /// A vector for each text, in the order of the texts.
    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// A model that makes vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Who runs it, as the settings call it.
    pub provider: &'static str,
    /// Its name. Vectors of models with the same provider and name can be compared.
    pub name: String,
    /// How long its vectors are, if that is known before there is one.
    pub dimensions: Option<usize>,
}

/// What a vector is for: some models make different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To search with.
    Query,
    /// To be found.
    Document,
}

impl Purpose {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Document => "document",
        }
    }
}
