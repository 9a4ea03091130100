//! `rag.search_hybrid`: hybrid search over the chunks of collections.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::{
    CallError,
    collections::{
        VisibleCollection,
        retrieve::{self, HitList, VectorSearch},
    },
};
use vademecum_collections::EmbeddingModel;
use vademecum_embed::UnrelatedSimilarity;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::Deadline;
use vademecum_search::{FtsQuery, ReciprocalRank, vector::DistanceMetric};

use super::{
    filter::FilterInput,
    limits::{self, DEFAULT_K, MAX_CANDIDATES, parse_count, with_collections},
    results::{RagSearchResponse, ResultPage, ReturnInput},
    vector::embed_query,
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Runs a hybrid search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagSearchHybrid {
    /// A question or a few words.
    query: String,
    /// Results: 1 to 50.
    #[schemars(extend("default" = 10))]
    k: Option<i64>,
    /// Document filters.
    #[serde(default)]
    filters: FilterInput,
    /// Fuse both lists, or rerank the full-text list by vectors.
    #[serde(default)]
    mode: HybridMode,
    /// For mode fuse.
    #[serde(default)]
    fuse: FuseInput,
    /// For mode `fts_then_vec`.
    #[serde(default)]
    fts_then_vec: RerankInput,
    /// Fields to return.
    #[serde(default, rename = "return")]
    shown: ReturnInput,
}

/// Method of combining full text and vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HybridMode {
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

/// Full-text results, reranked by vectors.
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

/// Vector distance metric.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MetricInput {
    #[default]
    Cosine,
    L2,
    InnerProduct,
}

impl From<MetricInput> for DistanceMetric {
    fn from(metric: MetricInput) -> Self {
        match metric {
            MetricInput::Cosine => Self::Cosine,
            MetricInput::L2 => Self::L2,
            MetricInput::InnerProduct => Self::InnerProduct,
        }
    }
}

/// A validated search, ready to run.
struct HybridSearch {
    query: Arc<FtsQuery>,
    filter: vademecum_collections::DocumentFilter,
    /// Query vector and its model; `None` makes the search full-text only.
    vector: Option<(Arc<[f32]>, EmbeddingModel)>,
    unrelated: Option<UnrelatedSimilarity>,
    mode: HybridMode,
    fusion: ReciprocalRank,
    metric: DistanceMetric,
    /// Number of candidates from full text and from vectors, and number of candidates kept after
    /// reranking.
    fts_k: usize,
    vec_k: usize,
    rerank_k: usize,
    k: usize,
}

impl Tool for RagSearchHybrid {
    const NAME: &'static str = "rag.search_hybrid";
    const TITLE: &'static str = "Search collections by words and meaning";
    const DESCRIPTION: &'static str = "Keyword and semantic search over collections in one. \
        Read results with rag.get_chunks.";
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
        limits::check_query("query", &self.query)?;
        let fusion = parse_fusion(self.fuse)?;
        let count = |name: &str, number| parse_count(name, Some(number), DEFAULT_K, MAX_CANDIDATES);
        let (fts_k, vec_k) = match self.mode {
            HybridMode::Fuse => {
                (count("fuse.fts_k", self.fuse.fts_k)?, count("fuse.vec_k", self.fuse.vec_k)?)
            }
            HybridMode::FtsThenVec => {
                (count("fts_then_vec.candidates_k", self.fts_then_vec.candidates_k)?, 0)
            }
        };
        let mut plan = HybridSearch {
            query: Arc::new(FtsQuery::parse(&self.query)),
            filter: self.filters.into_filter()?,
            vector: None,
            unrelated: None,
            mode: self.mode,
            fusion,
            metric: self.fts_then_vec.vec_metric.into(),
            fts_k,
            vec_k,
            rerank_k: count("fts_then_vec.rerank_k", self.fts_then_vec.rerank_k)?,
            k: limits::parse_k(self.k),
        };
        let degraded = match embed_query(services, &self.query, None).await {
            Ok(vector) => {
                plan.vector = Some(vector);
                plan.unrelated = services.unrelated_similarity().await;
                None
            }
            Err(problem) => Some(problem.degraded_notice()),
        };
        let what = self.shown;
        let found =
            with_collections(services, call, limits::HYBRID_TIMEOUT, move |opened, deadline| {
                let list = plan.run(opened, deadline);
                let (query, k) = (Some(Arc::clone(&plan.query)), plan.k);
                ResultPage { fields: what, query, is_hybrid: true, offset: 0, k }
                    .read_response(opened, &list, deadline)
            });
        let requested_k = self.k.unwrap_or_else(|| i64::try_from(DEFAULT_K).unwrap_or(0));
        let mut response = found.await?.fail_if_all_failed()?.finish(call, requested_k, begun);
        response.stats.degraded = degraded;
        response.stats.mode = Some(match self.mode {
            HybridMode::Fuse => "fuse",
            HybridMode::FtsThenVec => "fts_then_vec",
        });
        Ok(response.into_output())
    }
}

fn parse_fusion(input: FuseInput) -> Result<ReciprocalRank, CallError> {
    ReciprocalRank::new(input.rrf_k0, input.w_fts, input.w_vec).ok_or_else(|| {
        let problem = "fuse: rrf_k0, w_fts and w_vec must be 0 or more";
        CallError::Invalid(problem.to_owned())
    })
}

impl HybridSearch {
    fn run(&self, opened: &[VisibleCollection], deadline: &Deadline) -> HitList {
        let words =
            retrieve::search_full_text(opened, &self.query, &self.filter, self.fts_k, deadline);
        let Some((vector, model)) = &self.vector else { return words };
        match self.mode {
            HybridMode::Fuse => {
                let search = VectorSearch {
                    vector,
                    model: Some(model),
                    unrelated: self.unrelated,
                    filter: &self.filter,
                    take: self.vec_k,
                    metric: self.metric,
                };
                let near = retrieve::search_vectors(opened, search, deadline);
                retrieve::fuse_rankings(&words, &near, self.fusion)
            }
            HybridMode::FtsThenVec => {
                let mut list =
                    retrieve::rerank_by_vector(opened, &words, vector, self.metric, deadline);
                list.has_more |= list.hits.len() > self.rerank_k;
                list.hits.truncate(self.rerank_k);
                list
            }
        }
    }
}
