//! The Ollama provider.

use serde::{Deserialize, Serialize};

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError, http::Endpoint, model_spec::ModelSpec,
};
use vademecum_core::config::Embeddings;

const NAME: &str = "ollama";

/// Embeds texts with an Ollama server.
#[derive(Debug)]
pub(super) struct Ollama {
    endpoint: Endpoint,
    model_spec: ModelSpec,
}

#[derive(Serialize)]
struct EmbedRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
    truncate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbedResponse {
    #[serde(default)]
    embeddings: Vec<Vec<f32>>,
}

impl Ollama {
    /// Opens the provider with the settings.
    pub(super) fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let endpoint = Endpoint::open(settings, NAME, "http://localhost:11434", "/api/embed")?;
        Ok(Self { endpoint, model_spec: ModelSpec::new(settings, NAME, "nomic-embed-text") })
    }
}

impl Embedder for Ollama {
    fn model(&self) -> &Model {
        &self.model_spec.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let question = EmbedRequest {
            model: &self.model_spec.model.name,
            input: texts,
            truncate: true,
            dimensions: self.model_spec.dimensions,
        };
        let answer: EmbedResponse =
            self.endpoint.request_embeddings(&question, texts.len(), purpose)?;
        if answer.embeddings.is_empty() && !texts.is_empty() {
            let model = &self.model_spec.model.name;
            return Err(self.endpoint.malformed_response(format!(
                "it has no vectors; if the model is missing, run `ollama pull {model}`"
            )));
        }
        Ok(answer.embeddings)
    }
}
