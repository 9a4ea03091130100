//! What a search by meaning is asked for, and the vector that it takes.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::{model::Order, retrieve::Lambda};

use super::Toolbox;
use crate::actors::{CallError, Vectors, Way};

/// What a search goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SearchMode {
    /// Words.
    #[default]
    Fts,
    /// Meaning.
    Vector,
    /// Both.
    Hybrid,
}

/// How a search goes by meaning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meaning {
    /// What it goes by.
    pub(crate) mode: SearchMode,
    /// Whether what words found is put in the order of meaning.
    pub(crate) rerank: bool,
    /// How much relevance counts against novelty: 0 to 1.
    pub(crate) lambda: Option<f64>,
    /// In which order results are wanted.
    pub(crate) order: Order,
}

impl Meaning {
    /// What vectors are to say in a search for `query`, if anything; and why they
    /// cannot, if they should.
    pub(crate) async fn vectors(
        self,
        toolbox: &Toolbox,
        query: &str,
    ) -> Result<(Option<Vectors>, Option<String>), CallError> {
        let lambda = self.lambda.map(|lambda| {
            let problem = || CallError::Invalid(format!("lambda: expected 0 to 1, got {lambda}"));
            Lambda::new(lambda).ok_or_else(problem)
        });
        let lambda = lambda.transpose()?;
        let way = match (self.mode, self.rerank) {
            (SearchMode::Fts, false) => Way::Words,
            (SearchMode::Fts, true) => Way::Rerank,
            (SearchMode::Vector, _) => Way::Alone,
            (SearchMode::Hybrid, _) => Way::Both,
        };
        if way == Way::Words && lambda.is_none() {
            return Ok((None, None));
        }
        if self.order == Order::Recent {
            let problem = "order_by: recent goes with mode fts alone, without rerank and lambda";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        let reason = match toolbox.embeddings() {
            None => "no embeddings.provider is set on this server".to_owned(),
            Some(embeddings) => match embeddings.query(query).await {
                Ok(vector) => {
                    return Ok((Some(Vectors { vector: Some(vector), way, lambda }), None));
                }
                Err(error) => {
                    tracing::warn!(%error, "a query could not be embedded");
                    error.to_string()
                }
            },
        };
        if way == Way::Alone {
            let problem = format!("mode: vector is not possible: {reason}; search with mode fts");
            return Err(CallError::NotConfigured(problem));
        }
        Ok((None, Some(reason)))
    }
}
