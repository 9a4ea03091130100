//! An Ollama server.

use serde::{Deserialize, Serialize};

use super::{EmbedError, Embedder, Model, Purpose, SetupError, http::Endpoint, wanted::Wanted};
use vademecum_core::config::Embeddings;

const NAME: &str = "ollama";

/// An Ollama server.
#[derive(Debug)]
pub(super) struct Ollama {
    endpoint: Endpoint,
    wanted: Wanted,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
    truncate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    embeddings: Vec<Vec<f32>>,
}

impl Ollama {
    /// The one that the settings describe.
    pub(super) fn open(settings: &Embeddings) -> Result<Self, SetupError> {
        let endpoint = Endpoint::open(settings, NAME, "http://localhost:11434", "/api/embed")?;
        Ok(Self { endpoint, wanted: Wanted::new(settings, NAME, "nomic-embed-text") })
    }
}

impl Embedder for Ollama {
    fn model(&self) -> &Model {
        &self.wanted.model
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let question = Question {
            model: &self.wanted.model.name,
            input: texts,
            truncate: true,
            dimensions: self.wanted.dimensions,
        };
        let answer: Answer = self.endpoint.ask(&question, texts.len(), purpose)?;
        if answer.embeddings.is_empty() && !texts.is_empty() {
            let model = &self.wanted.model.name;
            return Err(self.endpoint.malformed(format!(
                "it has no vectors; is the model there? `ollama pull {model}` fetches it"
            )));
        }
        Ok(answer.embeddings)
    }
}
