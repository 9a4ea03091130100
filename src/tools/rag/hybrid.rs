//! `rag.search_hybrid`: chunks by words and vectors.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_collections::EmbeddingModel;
use vademecum_kit::{
    model::Deadline,
    retrieve::{FtsQuery, ReciprocalRank, vector::Metric},
};

use super::{
    filter::FilterInput,
    limits::{self, CANDIDATES, K, positive, with_collections},
    results::{Response, ReturnInput, Shown},
    vector::of_text,
};
use crate::{
    actors::CallError,
    collections::{
        Opened,
        retrieve::{self, List},
    },
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};

/// Searches by words and vectors.
#[derive(Debug)]
pub struct RagSearchHybrid;

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagSearchHybridInput {
    /// A question or a few words.
    query: String,
    /// Results: 1 to 50.
    #[schemars(extend("default" = 10))]
    k: Option<i64>,
    /// Which documents count.
    #[serde(default)]
    filters: FilterInput,
    /// Fuse both lists, or put what words found in the order of the vectors.
    #[serde(default)]
    mode: Mode,
    /// For mode fuse.
    #[serde(default)]
    fuse: FuseInput,
    /// For mode `fts_then_vec`.
    #[serde(default)]
    fts_then_vec: RerankInput,
    /// What results show.
    #[serde(default, rename = "return")]
    shown: ReturnInput,
}

/// How words and vectors are brought together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Fuse,
    FtsThenVec,
}

/// Reciprocal rank fusion.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FuseInput {
    /// 1 to 500, default 50.
    fts_k: i64,
    /// 1 to 500, default 50.
    vec_k: i64,
    /// Default 60.
    rrf_k0: f64,
    /// Default 1.
    w_fts: f64,
    /// Default 1.
    w_vec: f64,
}

impl Default for FuseInput {
    fn default() -> Self {
        Self { fts_k: 50, vec_k: 50, rrf_k0: 60.0, w_fts: 1.0, w_vec: 1.0 }
    }
}

/// What words found, in the order of the vectors.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RerankInput {
    /// 1 to 500, default 200.
    candidates_k: i64,
    /// 1 to 500, default 50.
    rerank_k: i64,
    /// Default cosine.
    vec_metric: MetricInput,
}

impl Default for RerankInput {
    fn default() -> Self {
        Self { candidates_k: 200, rerank_k: 50, vec_metric: MetricInput::default() }
    }
}

/// How distances are measured.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MetricInput {
    #[default]
    Cosine,
    L2,
    InnerProduct,
}

impl From<MetricInput> for Metric {
    fn from(metric: MetricInput) -> Self {
        match metric {
            MetricInput::Cosine => Self::Cosine,
            MetricInput::L2 => Self::L2,
            MetricInput::InnerProduct => Self::InnerProduct,
        }
    }
}

/// A search that is ready.
struct Plan {
    query: Arc<FtsQuery>,
    filter: vademecum_collections::Filter,
    /// Without one, only words count.
    vector: Option<(Arc<[f32]>, EmbeddingModel)>,
    mode: Mode,
    fusion: ReciprocalRank,
    metric: Metric,
    /// How many are looked at by words, by vectors, and put in order.
    fts_k: usize,
    vec_k: usize,
    rerank_k: usize,
    k: usize,
}

impl Contract for RagSearchHybrid {
    const NAME: &'static str = "rag.search_hybrid";
    const TITLE: &'static str = "Search collections by words and meaning";
    const DESCRIPTION: &'static str = "Keyword and semantic search over collections in one. \
        Read results with rag.get_chunks.";
    const TOOLSET: Toolset = Toolset::Rag;
    const FORM: Form = Form::Coded;
    type Input = RagSearchHybridInput;
    type Output = Response;

    async fn call(
        toolbox: &Toolbox,
        input: RagSearchHybridInput,
        call: &Call,
    ) -> Result<Replied<Response>, CallError> {
        let begun = Instant::now();
        limits::query("query", &input.query)?;
        let fusion = fusion(input.fuse)?;
        let count = |name: &str, number| positive(name, Some(number), K, CANDIDATES);
        let (fts_k, vec_k) = match input.mode {
            Mode::Fuse => {
                (count("fuse.fts_k", input.fuse.fts_k)?, count("fuse.vec_k", input.fuse.vec_k)?)
            }
            Mode::FtsThenVec => {
                (count("fts_then_vec.candidates_k", input.fts_then_vec.candidates_k)?, 0)
            }
        };
        let mut plan = Plan {
            query: Arc::new(FtsQuery::parse(&input.query)),
            filter: input.filters.read()?,
            vector: None,
            mode: input.mode,
            fusion,
            metric: input.fts_then_vec.vec_metric.into(),
            fts_k,
            vec_k,
            rerank_k: count("fts_then_vec.rerank_k", input.fts_then_vec.rerank_k)?,
            k: limits::wanted(input.k)?,
        };
        let degraded = match of_text(toolbox, &input.query, None).await {
            Ok(vector) => {
                plan.vector = Some(vector);
                None
            }
            Err(problem) => Some(problem.words()),
        };
        let what = input.shown;
        let found =
            with_collections(toolbox, call, limits::SEARCH_HYBRID, move |opened, deadline| {
                let list = plan.run(opened, deadline);
                let (query, k) = (Some(Arc::clone(&plan.query)), plan.k);
                Shown { what, query, is_hybrid: true, offset: 0, k }.read(opened, &list, deadline)
            });
        let asked = input.k.unwrap_or_else(|| i64::try_from(K).unwrap_or(0));
        let mut response = found.await?.or_failure()?.timed(asked, begun);
        response.stats.degraded = degraded;
        response.stats.mode = Some(match input.mode {
            Mode::Fuse => "fuse",
            Mode::FtsThenVec => "fts_then_vec",
        });
        Ok(response.into())
    }
}

fn fusion(input: FuseInput) -> Result<ReciprocalRank, CallError> {
    ReciprocalRank::new(input.rrf_k0, input.w_fts, input.w_vec).ok_or_else(|| {
        let problem = "fuse: rrf_k0, w_fts and w_vec must be 0 or more";
        CallError::Invalid(problem.to_owned())
    })
}

impl Plan {
    fn run(&self, opened: &[Opened], deadline: &Deadline) -> List {
        let words = retrieve::words(opened, &self.query, &self.filter, self.fts_k, deadline);
        let Some((vector, model)) = &self.vector else { return words };
        match self.mode {
            Mode::Fuse => {
                let near = retrieve::near(
                    opened,
                    vector,
                    Some(model),
                    &self.filter,
                    self.vec_k,
                    self.metric,
                    deadline,
                );
                retrieve::fuse(&words, &near, self.fusion)
            }
            Mode::FtsThenVec => {
                let mut list = retrieve::rerank(opened, &words, vector, self.metric, deadline);
                list.more |= list.found.len() > self.rerank_k;
                list.found.truncate(self.rerank_k);
                list
            }
        }
    }
}
