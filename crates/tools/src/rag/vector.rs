//! `rag.search_vector`: vector search over the chunks of collections, and the embedding of queries
//! for the other tools.

use std::{sync::Arc, time::Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::{
    CallError,
    collections::retrieve::{self, VectorSearch},
};
use vademecum_collections::EmbeddingModel;
use vademecum_embed::EmbedError;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_search::vector::{DistanceMetric, decode_vector, normalize};

use super::{
    filter::FilterInput,
    limits::{self, DEFAULT_K, with_collections},
    results::{RagSearchResponse, ResultPage, ReturnInput},
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Maximum number of dimensions of a vector in the arguments.
const MAX_DIMENSIONS: usize = 16_384;

/// Runs a vector search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagSearchVector {
    /// A text, or else `query_embedding`.
    query_text: Option<String>,
    /// A vector.
    query_embedding: Option<VectorInput>,
    /// Results: 1 to 50.
    #[schemars(extend("default" = 10))]
    k: Option<i64>,
    /// Document filters.
    #[serde(default)]
    filters: FilterInput,
    /// Options of the embedding.
    #[serde(default)]
    embedding: EmbeddingInput,
    /// Fields to return.
    #[serde(default, rename = "return")]
    shown: ReturnInput,
}

/// A vector.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VectorInput {
    /// Dimensions.
    dim: usize,
    /// Base64 of little-endian 32-bit floats.
    values_b64: String,
}

/// Options of the embedding.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EmbeddingInput {
    /// Must be the configured model.
    model: Option<String>,
}

impl Tool for RagSearchVector {
    const NAME: &'static str = "rag.search_vector";
    const TITLE: &'static str = "Search collections by meaning";
    const DESCRIPTION: &'static str =
        "Semantic search over collections. Read results with rag.get_chunks.";
    const TOOLSET: Toolset = Toolset::Rag;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    const HAS_LONG_RESULTS: bool = true;
    type Output = RagSearchResponse;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let begun = Instant::now();
        let k = limits::parse_k(self.k);
        let filter = self.filters.into_filter()?;
        let (vector, model) = match (&self.query_text, self.query_embedding) {
            (Some(text), None) => {
                limits::check_query("query_text", text)?;
                let (vector, model) = embed_query(services, text, self.embedding.model.as_deref())
                    .await
                    .map_err(CallError::from)?;
                (vector, Some(model))
            }
            (None, Some(vector)) => (decode_query_vector(&vector)?, None),
            (None, None) => {
                let problem = "query_text: is missing; pass query_text or query_embedding";
                return Err(CallError::Invalid(problem.to_owned()));
            }
            (Some(_), Some(_)) => {
                let problem = "query_embedding: pass it or query_text, not both";
                return Err(CallError::Invalid(problem.to_owned()));
            }
        };
        // A vector of the caller may be of any model.
        let unrelated = match &model {
            Some(_) => services.unrelated_similarity().await,
            None => None,
        };
        let what = self.shown;
        let found =
            with_collections(services, call, limits::VECTOR_TIMEOUT, move |opened, deadline| {
                let search = VectorSearch {
                    vector: &vector,
                    model: model.as_ref(),
                    unrelated,
                    filter: &filter,
                    take: k,
                    metric: DistanceMetric::Cosine,
                };
                let list = retrieve::search_vectors(opened, search, deadline);
                let shown =
                    ResultPage { fields: what, query: None, is_hybrid: false, offset: 0, k };
                shown.read_response(opened, &list, deadline)
            });
        let requested_k = self.k.unwrap_or_else(|| i64::try_from(DEFAULT_K).unwrap_or(0));
        let response = found.await?.fail_if_all_failed().map_err(|error| match error {
            // A vector whose dimensions fit no collection is the caller's error, not the server's.
            CallError::AllSourcesFailed(reason) if is_dimension_mismatch(&reason) => {
                CallError::Invalid(format!("query_embedding: {reason}"))
            }
            error => error,
        })?;
        Ok(response.finish(call, requested_k, begun).into_output())
    }
}

fn is_dimension_mismatch(reason: &str) -> bool {
    reason.contains("the query has ")
}

/// Decodes, checks and normalizes the vector in the arguments.
fn decode_query_vector(vector: &VectorInput) -> Result<Arc<[f32]>, CallError> {
    let wrong = |problem: String| CallError::Invalid(format!("query_embedding{problem}"));
    if vector.dim == 0 || vector.dim > MAX_DIMENSIONS {
        return Err(wrong(format!(".dim: expected 1 to {MAX_DIMENSIONS}, got {}", vector.dim)));
    }
    let bytes = STANDARD.decode(vector.values_b64.trim());
    let bytes = bytes.map_err(|error| wrong(format!(".values_b64: is not base64: {error}")))?;
    if bytes.len() != vector.dim * 4 {
        let problem = format!(
            ".values_b64: holds {} bytes, where {} numbers have {}",
            bytes.len(),
            vector.dim,
            vector.dim * 4
        );
        return Err(wrong(problem));
    }
    let values = decode_vector(&bytes, vector.dim)
        .map_err(|error| wrong(format!(".values_b64: {error}")))?;
    let vector = normalize(&values).map_err(|error| wrong(format!(".values_b64: {error}")))?;
    Ok(vector.into())
}

/// Reason why a text has no vector.
pub(crate) enum EmbeddingUnavailable {
    /// No embedding provider is configured.
    NotConfigured,
    /// The requested model is not the configured one.
    OtherModel(String),
    /// The provider failed.
    Failed(EmbedError),
}

impl EmbeddingUnavailable {
    /// Returns the reason as a notice for a result that does without vectors.
    pub(super) fn degraded_notice(&self) -> String {
        match self {
            Self::NotConfigured => {
                "full text only: no embeddings.provider is configured".to_owned()
            }
            Self::OtherModel(problem) => problem.clone(),
            Self::Failed(error) => format!("full text only: {error}"),
        }
    }
}

impl From<EmbeddingUnavailable> for CallError {
    fn from(problem: EmbeddingUnavailable) -> Self {
        match problem {
            EmbeddingUnavailable::NotConfigured => Self::NotConfigured(
                "no embedding provider is configured: set embeddings.provider in the server's \
                 settings (local, ollama, openai or voyage), or pass query_embedding, or use \
                 rag.search_fts"
                    .to_owned(),
            ),
            EmbeddingUnavailable::OtherModel(problem) => Self::Invalid(problem),
            EmbeddingUnavailable::Failed(error) => {
                tracing::warn!(%error, "a query could not be embedded");
                Self::AllSourcesFailed(error.to_string())
            }
        }
    }
}

/// Embeds a text with the configured model. Fails if `model_name` names another model.
pub(crate) async fn embed_query(
    services: &ToolServices,
    text: &str,
    model_name: Option<&str>,
) -> Result<(Arc<[f32]>, EmbeddingModel), EmbeddingUnavailable> {
    let embeddings = services.embeddings.as_ref().ok_or(EmbeddingUnavailable::NotConfigured)?;
    let model = embeddings.model();
    if let Some(model_name) = model_name.filter(|model_name| *model_name != model.name) {
        return Err(EmbeddingUnavailable::OtherModel(format!(
            "embedding.model: `{model_name}` is not the model that is configured, `{}`; leave it \
             out",
            model.name
        )));
    }
    let vector = embeddings.embed_query(text).await.map_err(EmbeddingUnavailable::Failed)?;
    let model = EmbeddingModel {
        provider: model.provider.to_owned(),
        model: model.name.clone(),
        dimensions: vector.len(),
    };
    Ok((vector, model))
}
