//! `OpenAI`, and every server that speaks as it does.

use serde::Serialize;

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError, http::Endpoint, numbered::Numbered,
    wanted::Wanted,
};
use vademecum_core::config::Embeddings;

const NAME: &str = "openai";

/// `OpenAI`, or whoever speaks as it does.
#[derive(Debug)]
pub(super) struct OpenAi {
    endpoint: Endpoint,
    wanted: Wanted,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    encoding_format: &'static str,
}

impl OpenAi {
    /// The one that the settings describe. `OpenAI` itself takes a key.
    pub(super) fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let endpoint = Endpoint::open(settings, NAME, "https://api.openai.com/v1", "/embeddings")?;
        if settings.api_base.is_none() && !endpoint.has_key() {
            return Err(SetupError::NoKey { provider: NAME, variable: "OPENAI_API_KEY" });
        }
        Ok(Self { endpoint, wanted: Wanted::new(settings, NAME, "text-embedding-3-small") })
    }
}

impl Embedder for OpenAi {
    fn model(&self) -> &Model {
        &self.wanted.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let question = Question {
            model: &self.wanted.model.name,
            input: texts,
            dimensions: self.wanted.dimensions,
            encoding_format: "float",
        };
        let answer: Numbered = self.endpoint.ask(&question, texts.len(), purpose)?;
        answer.in_order(texts.len(), &self.endpoint)
    }
}
