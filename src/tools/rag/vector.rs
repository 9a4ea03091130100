//! `rag.search_vector`: chunks by their vectors.

use std::{sync::Arc, time::Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_collections::EmbeddingModel;
use vademecum_kit::retrieve::vector::{Metric, numbers, unit};

use super::{
    filter::FilterInput,
    limits::{self, K, with_collections},
    results::{Response, ReturnInput, Shown},
};
use crate::{
    actors::CallError,
    collections::retrieve,
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_embed::EmbedError;
use vademecum_mcp::{Call, Toolset};

/// The longest vector that is read.
const MOST_DIMENSIONS: usize = 16_384;

/// Searches by vectors.
#[derive(Debug)]
pub struct RagSearchVector;

/// What is looked for: a text or a vector.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagSearchVectorInput {
    /// A text, or else `query_embedding`.
    query_text: Option<String>,
    /// A vector.
    query_embedding: Option<VectorInput>,
    /// Results: 1 to 50.
    #[schemars(extend("default" = 10))]
    k: Option<i64>,
    /// Which documents count.
    #[serde(default)]
    filters: FilterInput,
    /// How the text is embedded.
    #[serde(default)]
    embedding: EmbeddingInput,
    /// What results show.
    #[serde(default, rename = "return")]
    shown: ReturnInput,
}

/// A vector.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VectorInput {
    /// How many numbers.
    dim: usize,
    /// 32-bit floats, least byte first, in base64.
    values_b64: String,
}

/// How a text is embedded.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EmbeddingInput {
    /// The model; the one that is configured.
    model: Option<String>,
}

impl Contract for RagSearchVector {
    const NAME: &'static str = "rag.search_vector";
    const TITLE: &'static str = "Search collections by meaning";
    const DESCRIPTION: &'static str =
        "Semantic search over collections. Read results with rag.get_chunks.";
    const TOOLSET: Toolset = Toolset::Rag;
    const FORM: Form = Form::Coded;
    type Input = RagSearchVectorInput;
    type Output = Response;

    async fn call(
        toolbox: &Toolbox,
        input: RagSearchVectorInput,
        call: &Call,
    ) -> Result<Replied<Response>, CallError> {
        let begun = Instant::now();
        let k = limits::wanted(input.k)?;
        let filter = input.filters.read()?;
        let (vector, model) = match (&input.query_text, input.query_embedding) {
            (Some(text), None) => {
                limits::query("query_text", text)?;
                let (vector, model) = of_text(toolbox, text, input.embedding.model.as_deref())
                    .await
                    .map_err(CallError::from)?;
                (vector, Some(model))
            }
            (None, Some(vector)) => (given(&vector)?, None),
            (None, None) => {
                let problem = "query_text: is missing; give query_text or query_embedding";
                return Err(CallError::Invalid(problem.to_owned()));
            }
            (Some(_), Some(_)) => {
                let problem = "query_embedding: give it or query_text, not both";
                return Err(CallError::Invalid(problem.to_owned()));
            }
        };
        let what = input.shown;
        let found =
            with_collections(toolbox, call, limits::SEARCH_VECTOR, move |opened, deadline| {
                let metric = Metric::Cosine;
                let list =
                    retrieve::near(opened, &vector, model.as_ref(), &filter, k, metric, deadline);
                let shown = Shown { what, query: None, is_hybrid: false, offset: 0, k };
                shown.read(opened, &list, deadline)
            });
        let asked = input.k.unwrap_or_else(|| i64::try_from(K).unwrap_or(0));
        let response = found.await?.or_failure().map_err(|error| match error {
            // A vector that fits no collection is the caller's, not ours.
            CallError::NoAnswer(reason) if model_is_given(&reason) => {
                CallError::Invalid(format!("query_embedding: {reason}"))
            }
            error => error,
        })?;
        Ok(response.timed(asked, begun).into())
    }
}

fn model_is_given(reason: &str) -> bool {
    reason.contains("the query has ")
}

/// A vector that a caller has made.
fn given(vector: &VectorInput) -> Result<Arc<[f32]>, CallError> {
    let wrong = |problem: String| CallError::Invalid(format!("query_embedding{problem}"));
    if vector.dim == 0 || vector.dim > MOST_DIMENSIONS {
        return Err(wrong(format!(".dim: expected 1 to {MOST_DIMENSIONS}, got {}", vector.dim)));
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
    let values =
        numbers(&bytes, vector.dim).map_err(|error| wrong(format!(".values_b64: {error}")))?;
    let vector = unit(&values).map_err(|error| wrong(format!(".values_b64: {error}")))?;
    Ok(vector.into())
}

/// Why a text has no vector.
pub(crate) enum NoVector {
    /// Nobody makes any.
    NotConfigured,
    /// The model that is asked for is not the one that is configured.
    OtherModel(String),
    /// The provider cannot.
    Failed(EmbedError),
}

impl NoVector {
    /// The same in a few words, for an answer that does without.
    pub(super) fn words(&self) -> String {
        match self {
            Self::NotConfigured => {
                "full text only: no embeddings.provider is configured".to_owned()
            }
            Self::OtherModel(problem) => problem.clone(),
            Self::Failed(error) => format!("full text only: {error}"),
        }
    }
}

impl From<NoVector> for CallError {
    fn from(problem: NoVector) -> Self {
        match problem {
            NoVector::NotConfigured => Self::NotConfigured(
                "nothing makes vectors of texts here: set embeddings.provider in the server's \
                 settings (local, ollama, openai or voyage), or give query_embedding, or use \
                 rag.search_fts"
                    .to_owned(),
            ),
            NoVector::OtherModel(problem) => Self::Invalid(problem),
            NoVector::Failed(error) => {
                tracing::warn!(%error, "a query could not be embedded");
                Self::NoAnswer(error.to_string())
            }
        }
    }
}

/// The vector of a text, and the model that it is of.
pub(crate) async fn of_text(
    toolbox: &Toolbox,
    text: &str,
    wanted: Option<&str>,
) -> Result<(Arc<[f32]>, EmbeddingModel), NoVector> {
    let embeddings = toolbox.embeddings().ok_or(NoVector::NotConfigured)?;
    let model = embeddings.model();
    if let Some(wanted) = wanted.filter(|wanted| *wanted != model.name) {
        return Err(NoVector::OtherModel(format!(
            "embedding.model: `{wanted}` is not the model that is configured, `{}`; leave it out",
            model.name
        )));
    }
    let vector = embeddings.query(text).await.map_err(NoVector::Failed)?;
    let model = EmbeddingModel {
        provider: model.provider.to_owned(),
        model: model.name.clone(),
        dimensions: vector.len(),
    };
    Ok((vector, model))
}
