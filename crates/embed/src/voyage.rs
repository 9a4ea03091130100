//! Voyage AI.

use serde::Serialize;

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError, http::Endpoint, numbered::Numbered,
    wanted::Wanted,
};
use vademecum_core::config::Embeddings;

const NAME: &str = "voyage";

/// Voyage AI.
#[derive(Debug)]
pub(super) struct Voyage {
    endpoint: Endpoint,
    wanted: Wanted,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
    /// Without it, queries do not find documents as well as they could.
    input_type: &'static str,
    truncation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimension: Option<usize>,
}

impl Voyage {
    /// The one that the settings describe. Voyage itself takes a key.
    pub(super) fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let endpoint =
            Endpoint::open(settings, NAME, "https://api.voyageai.com", "/v1/embeddings")?;
        if settings.api_base.is_none() && !endpoint.has_key() {
            return Err(SetupError::NoKey { provider: NAME, variable: "VOYAGE_API_KEY" });
        }
        Ok(Self { endpoint, wanted: Wanted::new(settings, NAME, "voyage-3") })
    }
}

impl Embedder for Voyage {
    fn model(&self) -> &Model {
        &self.wanted.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let question = Question {
            model: &self.wanted.model.name,
            input: texts,
            input_type: purpose.as_str(),
            truncation: true,
            output_dimension: self.wanted.dimensions,
        };
        let answer: Numbered = self.endpoint.ask(&question, texts.len(), purpose)?;
        answer.in_order(texts.len(), &self.endpoint)
    }
}
