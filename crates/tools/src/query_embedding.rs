//! Options of a vector or hybrid search, and the query vector that it needs.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::{CallError, SearchMode, VectorQuery};
use vademecum_model::Order;
use vademecum_search::MmrLambda;

use super::ToolServices;

/// Kind of search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SearchModeInput {
    /// Full-text search.
    #[default]
    Fts,
    /// Vector search.
    Vector,
    /// Hybrid search: full text and vectors, fused.
    Hybrid,
}

/// Options of a search that may use vectors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VectorOptions {
    /// Kind of search.
    pub(crate) mode: SearchModeInput,
    /// Whether full-text hits are reranked by vectors.
    pub(crate) rerank: bool,
    /// Weight of relevance against novelty, from 0 to 1; 1 is relevance alone.
    pub(crate) lambda: Option<f64>,
    /// Order of the results.
    pub(crate) order: Order,
}

impl VectorOptions {
    /// Embeds `query` if the options need a vector. Returns the vector part of the search, or
    /// `None` and, if vectors were requested, the reason for a full-text search instead. Fails if
    /// mode `vector` has no vector.
    pub(crate) async fn resolve_vectors(
        self,
        services: &ToolServices,
        query: &str,
    ) -> Result<(Option<VectorQuery>, Option<String>), CallError> {
        let lambda = self.lambda.map(|lambda| {
            let problem = || CallError::Invalid(format!("lambda: expected 0 to 1, got {lambda}"));
            MmrLambda::new(lambda).ok_or_else(problem)
        });
        let lambda = lambda.transpose()?;
        let way = match (self.mode, self.rerank) {
            (SearchModeInput::Fts, false) => SearchMode::FullText,
            (SearchModeInput::Fts, true) => SearchMode::Rerank,
            (SearchModeInput::Vector, _) => SearchMode::Vector,
            (SearchModeInput::Hybrid, _) => SearchMode::Hybrid,
        };
        if way == SearchMode::FullText && lambda.is_none() {
            return Ok((None, None));
        }
        if self.order == Order::Recent {
            let problem = "order_by: recent goes with mode fts alone, without rerank and lambda";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        let reason = match services.embeddings.as_ref() {
            None => "no embeddings.provider is set on this server".to_owned(),
            Some(embeddings) => match embeddings.embed_query(query).await {
                Ok(vector) => {
                    let unrelated = match way {
                        SearchMode::Vector | SearchMode::Hybrid => {
                            embeddings.unrelated_similarity().await
                        }
                        SearchMode::FullText | SearchMode::Rerank => None,
                    };
                    let query = VectorQuery { vector: Some(vector), unrelated, mode: way, lambda };
                    return Ok((Some(query), None));
                }
                Err(error) => {
                    tracing::warn!(%error, "a query could not be embedded");
                    error.to_string()
                }
            },
        };
        if way == SearchMode::Vector {
            let problem = format!("mode: vector is not possible: {reason}; search with mode fts");
            return Err(CallError::NotConfigured(problem));
        }
        Ok((None, Some(reason)))
    }
}
