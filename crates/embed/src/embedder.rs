//! The interface that every embedding provider implements.

use std::fmt;

use super::EmbedError;

/// Turns texts into vectors.
///
/// `embed` handles one batch at a time and may block, so it must not be called on the event loop.
/// The caller validates and normalises the vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Returns the model that produces the vectors.
    fn model(&self) -> &Model;

    /// Returns one vector for each text, in the order of `texts`.
    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// The identity of an embedding model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name of the provider, as in the settings.
    pub provider: &'static str,
    /// Name of the model. Vectors are comparable if provider and name are equal.
    pub name: String,
    /// Length of the vectors, if it is known before the first request.
    pub dimensions: Option<usize>,
}

/// Use of a vector. Some models embed queries and documents differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The text is a search query.
    Query,
    /// The text is a document to be searched.
    Document,
}

impl Purpose {
    /// Returns the name that is sent to providers: `query` or `document`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Document => "document",
        }
    }
}
