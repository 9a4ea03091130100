//! The `OpenAI` provider, also for servers with a compatible API.

use serde::Serialize;

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError, http::Endpoint,
    indexed_embeddings::IndexedEmbeddings, model_spec::ModelSpec,
};
use vademecum_core::config::Embeddings;

const NAME: &str = "openai";

/// Embeds texts with `OpenAI` or a server with a compatible API.
#[derive(Debug)]
pub(super) struct OpenAi {
    endpoint: Endpoint,
    model_spec: ModelSpec,
}

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    encoding_format: &'static str,
}

impl OpenAi {
    /// Opens the provider with the settings. A key is required unless `api_base` is set.
    pub(super) fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let endpoint = Endpoint::open(settings, NAME, "https://api.openai.com/v1", "/embeddings")?;
        if settings.api_base.is_none() && !endpoint.has_key() {
            return Err(SetupError::NoKey { provider: NAME, variable: "OPENAI_API_KEY" });
        }
        Ok(Self { endpoint, model_spec: ModelSpec::new(settings, NAME, "text-embedding-3-small") })
    }
}

impl Embedder for OpenAi {
    fn model(&self) -> &Model {
        &self.model_spec.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let question = EmbeddingsRequest {
            model: &self.model_spec.model.name,
            input: texts,
            dimensions: self.model_spec.dimensions,
            encoding_format: "float",
        };
        let answer: IndexedEmbeddings =
            self.endpoint.request_embeddings(&question, texts.len(), purpose)?;
        answer.into_ordered(texts.len(), &self.endpoint)
    }
}
