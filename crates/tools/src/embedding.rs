//! `generate_embedding`: returns the embedding vector of a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_embed::EmbedError;
use vademecum_mcp::{RequestContext, Toolset};

use super::{Tool, ToolOutput, ToolResult, ToolServices};

/// Number of vector components shown in the text.
const MAX_SHOWN_COMPONENTS: usize = 10;

/// Embeds a text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateEmbedding {
    /// The text to convert into a vector.
    text: String,
}

/// Result of `generate_embedding`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GenerateEmbeddingOutput {
    /// Embedding provider.
    provider: &'static str,
    /// Embedding model.
    model: String,
    /// Number of dimensions.
    dimensions: usize,
    /// Length of the text, in characters.
    text_length: usize,
    /// The vector, normalized to unit length.
    embedding: Vec<f32>,
}

impl Tool for GenerateEmbedding {
    const NAME: &'static str = "generate_embedding";
    const TITLE: &'static str = "Embed a text";
    const DESCRIPTION: &'static str = "Convert a text into an embedding vector, for semantic \
        search in a vector column or for comparing texts.";
    const TOOLSET: Toolset = Toolset::Embedding;
    type Output = GenerateEmbeddingOutput;

    async fn call(self, services: &ToolServices, _: &RequestContext) -> ToolResult<Self::Output> {
        let Some(embeddings) = services.embeddings.as_ref() else {
            let problem = "embedding generation is not enabled: set embeddings.provider in the \
                           server's settings";
            return Err(CallError::Refused(problem.to_owned()));
        };
        let vector = embeddings.embed_query(&self.text).await.map_err(embedding_error)?;
        let model = embeddings.model();
        let output = GenerateEmbeddingOutput {
            provider: model.provider,
            model: model.name.clone(),
            dimensions: vector.len(),
            text_length: self.text.chars().count(),
            embedding: vector.to_vec(),
        };
        let text = services.text(|| render_embedding(&output));
        Ok(ToolOutput { output, text, meta: None })
    }
}

/// Converts an embedding error to the caller's error.
fn embedding_error(error: EmbedError) -> CallError {
    match error {
        EmbedError::Blank => {
            CallError::Invalid("text: expected some text to embed, got none".to_owned())
        }
        error => {
            tracing::warn!(%error, "a text could not be embedded");
            CallError::Refused(error.to_string())
        }
    }
}

fn render_embedding(made: &GenerateEmbeddingOutput) -> String {
    let GenerateEmbeddingOutput { provider, model, dimensions, text_length, embedding } = made;
    let mut shown: Vec<String> =
        embedding.iter().take(MAX_SHOWN_COMPONENTS).map(|value| format!("{value:.3}")).collect();
    if embedding.len() > MAX_SHOWN_COMPONENTS {
        shown.push("...".to_owned());
    }
    let (first, shown) = (embedding.len().min(MAX_SHOWN_COMPONENTS), shown.join(", "));
    format!(
        "Generated Embedding:\nProvider: {provider}\nModel: {model}\nDimensions: {dimensions}\n\
         Text Length: {text_length} characters\n\n\
         Embedding Vector (first {first} dimensions):\n[{shown}]\n\n\
         Full embedding vector returned with {dimensions} dimensions."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_first_ten_components() {
        let mut embedding = vec![0.023, -0.145, 0.089, 0.234, -0.067, 0.178, -0.112, 0.045];
        embedding.extend([0.198, -0.156].into_iter().chain([0.5; 758]));
        let made = GenerateEmbeddingOutput {
            provider: "ollama",
            model: "nomic-embed-text".to_owned(),
            dimensions: 768,
            text_length: 33,
            embedding,
        };
        assert_eq!(
            render_embedding(&made),
            "Generated Embedding:\nProvider: ollama\nModel: nomic-embed-text\nDimensions: 768\n\
             Text Length: 33 characters\n\nEmbedding Vector (first 10 dimensions):\n\
             [0.023, -0.145, 0.089, 0.234, -0.067, 0.178, -0.112, 0.045, 0.198, -0.156, ...]\n\n\
             Full embedding vector returned with 768 dimensions."
        );
    }

    #[test]
    fn short_vector_is_shown_in_full() {
        let made = GenerateEmbeddingOutput {
            provider: "stub",
            model: "stub".to_owned(),
            dimensions: 2,
            text_length: 1,
            embedding: vec![1.0, 0.0],
        };
        assert!(render_embedding(&made).contains("(first 2 dimensions):\n[1.000, 0.000]\n"));
    }
}
