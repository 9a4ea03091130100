//! The Voyage AI provider.

use serde::Serialize;

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError, http::Endpoint,
    indexed_embeddings::IndexedEmbeddings, model_spec::ModelSpec,
};
use vademecum_core::config::Embeddings;

const NAME: &str = "voyage";

/// Embeds texts with Voyage AI.
#[derive(Debug)]
pub(super) struct Voyage {
    endpoint: Endpoint,
    model_spec: ModelSpec,
}

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
    /// `query` or `document`. Retrieval quality is lower without it.
    input_type: &'static str,
    truncation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimension: Option<usize>,
}

impl Voyage {
    /// Opens the provider with the settings. A key is required unless `api_base` is set.
    pub(super) fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let endpoint =
            Endpoint::open(settings, NAME, "https://api.voyageai.com", "/v1/embeddings")?;
        if settings.api_base.is_none() && !endpoint.has_key() {
            return Err(SetupError::NoKey { provider: NAME, variable: "VOYAGE_API_KEY" });
        }
        Ok(Self { endpoint, model_spec: ModelSpec::new(settings, NAME, "voyage-3") })
    }
}

impl Embedder for Voyage {
    fn model(&self) -> &Model {
        &self.model_spec.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let question = EmbeddingsRequest {
            model: &self.model_spec.model.name,
            input: texts,
            input_type: purpose.as_str(),
            truncation: true,
            output_dimension: self.model_spec.dimensions,
        };
        let answer: IndexedEmbeddings =
            self.endpoint.request_embeddings(&question, texts.len(), purpose)?;
        answer.into_ordered(texts.len(), &self.endpoint)
    }
}
