//! The result that all `rag.search_*` tools share.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_actors::{
    CallError,
    collections::{
        VisibleCollection,
        retrieve::{self, ChunkHit, FailedCollection, HitList},
    },
};
use vademecum_collections::Passage;
use vademecum_mcp::RequestContext;
use vademecum_model::{ContentOrigin, Deadline};
use vademecum_search::{FtsQuery, Highlighter};
use vademecum_source::SourceError;

use super::limits::{MAX_K, MAX_RESPONSE_BYTES};
use crate::{ToolOutput, similarity_floor_meta};

/// Length of a snippet, in characters.
const SNIPPET_CHARS: usize = 300;

/// Fields of a result to return.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the contract has them")]
pub(super) struct ReturnInput {
    /// Default true.
    include_title: bool,
    /// Default true.
    include_metadata: bool,
    /// Default false.
    include_snippets: bool,
    /// Raw BM25 and distances; default false.
    include_raw: bool,
}

impl Default for ReturnInput {
    fn default() -> Self {
        Self {
            include_title: true,
            include_metadata: true,
            include_snippets: false,
            include_raw: false,
        }
    }
}

/// Result of a `rag.search_*` tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RagSearchResponse {
    /// Best first.
    pub(super) results: Vec<ChunkResult>,
    /// Whether more chunks match.
    pub(super) truncated: bool,
    /// If so: how to see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) read_on: Option<String>,
    /// Statistics of the search.
    pub(super) stats: SearchStats,
    /// Cosine similarity below which vector hits are coincidences; told in `_meta`.
    #[serde(skip)]
    similarity_floor: Option<f64>,
    /// Whether any collection was searched.
    #[serde(skip)]
    has_answer: bool,
}

/// A chunk that matches.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct ChunkResult {
    /// Chunk id.
    chunk_id: String,
    /// Id of its document.
    doc_id: String,
    /// Id of its source.
    source_id: i64,
    /// Name of its source.
    source_name: String,
    /// Where the content comes from.
    origin: ContentOrigin,
    /// Fused score from 0 to 1; higher is better.
    score: Option<f64>,
    /// Full-text score from 0 to 1; higher is better.
    score_fts: Option<f64>,
    /// Vector score (1 + cosine) / 2, from 0 to 1; higher is better.
    score_vec: Option<f64>,
    /// Raw BM25 score; higher is better.
    score_fts_raw: Option<f64>,
    /// Raw vector distance; lower is better.
    distance_raw: Option<f64>,
    /// Title of the document.
    title: Option<String>,
    /// Metadata of the document.
    metadata: Option<Map<String, Value>>,
    /// Excerpt with the densest query matches.
    snippet: Option<String>,
    /// Rank in each list.
    debug: Option<RankDebug>,
}

/// Rank of a chunk in each list, counted from 1; 0 if it is not in the list.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct RankDebug {
    rank_fts: usize,
    rank_vec: usize,
}

/// Statistics of a search.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct SearchStats {
    /// Mode of a hybrid search.
    pub(super) mode: Option<&'static str>,
    /// Number of results requested.
    pub(super) k_requested: i64,
    /// Number of results returned.
    k_returned: usize,
    /// Duration, in milliseconds.
    ms: u64,
    /// Reason for a full-text search instead of a hybrid one.
    pub(super) degraded: Option<String>,
    /// Collections that failed, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<FailedSourceEntry>,
}

/// A collection that failed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FailedSourceEntry {
    source_name: String,
    reason: String,
    /// The deadline passed.
    #[serde(skip)]
    is_late: bool,
}

/// The page and the fields of a list to return.
pub(super) struct ResultPage {
    pub(super) fields: ReturnInput,
    pub(super) query: Option<Arc<FtsQuery>>,
    /// Whether fused scores and ranks are included.
    pub(super) is_hybrid: bool,
    pub(super) offset: usize,
    pub(super) k: usize,
}

impl ResultPage {
    /// Reads the page of a list and builds the response.
    pub(super) fn read_response(
        &self,
        opened: &[VisibleCollection],
        list: &HitList,
        deadline: &Deadline,
    ) -> Result<RagSearchResponse, SourceError> {
        let page: Vec<ChunkHit> =
            list.hits.iter().skip(self.offset).take(self.k).cloned().collect();
        let passages = retrieve::load_passages(opened, &page, deadline)?;
        let mut truncated = list.has_more || list.hits.len() > self.offset + page.len();
        let mut results = Vec::with_capacity(page.len());
        let mut bytes = 0;
        let mut next_offset = self.offset + page.len();
        for ((found, passage), place) in page.iter().zip(passages).zip(self.offset..) {
            let Some(passage) = passage else { continue };
            let chunk = self.to_chunk_result(found, passage);
            bytes += serde_json::to_string(&chunk).map_or(0, |json| json.len());
            if bytes > MAX_RESPONSE_BYTES {
                (truncated, next_offset) = (true, place);
                break;
            }
            results.push(chunk);
        }
        let failed = list.failed.iter().map(|FailedCollection { name, reason, is_late }| {
            let (source_name, reason, is_late) = (name.clone(), reason.clone(), *is_late);
            FailedSourceEntry { source_name, reason, is_late }
        });
        let k_returned = results.len();
        let stats = SearchStats { k_returned, failed: failed.collect(), ..SearchStats::default() };
        // Only full-text search has pages.
        let read_on = truncated.then(|| match &self.query {
            Some(_) if !self.is_hybrid => format!("pass offset {next_offset}"),
            Some(_) | None => format!("raise k (at most {MAX_K}), or narrow filters"),
        });
        let similarity_floor = list.similarity_floor;
        let has_answer = list.has_answer;
        Ok(RagSearchResponse { results, truncated, read_on, stats, similarity_floor, has_answer })
    }

    fn to_chunk_result(&self, found: &ChunkHit, passage: Passage) -> ChunkResult {
        let what = self.fields;
        let raw =
            |leg: Option<retrieve::ModeScore>| leg.map(|leg| leg.raw).filter(|_| what.include_raw);
        let rank = |leg: Option<retrieve::ModeScore>| leg.map_or(0, |leg| leg.rank);
        let snippet = what.include_snippets.then(|| self.snippet(&passage.body));
        let chunk_id = passage.id().to_string();
        let document = passage.document;
        ChunkResult {
            chunk_id,
            doc_id: document.doc_id,
            source_id: document.source_id,
            source_name: document.source_name,
            origin: ContentOrigin::SharedCollection,
            score: self.is_hybrid.then_some(found.score),
            score_fts: found.fts.map(|leg| leg.score),
            score_vec: found.vector.map(|leg| leg.score),
            score_fts_raw: raw(found.fts),
            distance_raw: raw(found.vector),
            title: document.title.filter(|_| what.include_title),
            metadata: what.include_metadata.then_some(document.metadata),
            snippet,
            debug: self
                .is_hybrid
                .then(|| RankDebug { rank_fts: rank(found.fts), rank_vec: rank(found.vector) }),
        }
    }

    fn snippet(&self, body: &str) -> String {
        let Some(query) = &self.query else {
            return vademecum_search::make_snippet(body, None, SNIPPET_CHARS);
        };
        let finder = Highlighter::new(query, SNIPPET_CHARS);
        let place = finder.find_matches(body).densest;
        finder.make_excerpt(body, place).snippet
    }
}

impl RagSearchResponse {
    /// Records the chunks for the audit log, and sets the requested number of results and the
    /// duration.
    pub(super) fn finish(
        mut self,
        call: &RequestContext,
        k_requested: i64,
        begun: Instant,
    ) -> Self {
        let chunks = self.results.iter().map(|chunk| &chunk.chunk_id);
        call.items.record_all_of(ContentOrigin::SharedCollection, chunks);
        self.stats.k_requested = k_requested;
        self.stats.ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Returns the output of the tool, with the floor of a vector search in `_meta`.
    pub(super) fn into_output(self) -> ToolOutput<Self> {
        let meta = similarity_floor_meta(self.similarity_floor);
        ToolOutput { output: self, text: None, meta }
    }

    /// Fails if all collections failed. Those that were searched answer for the others.
    pub(super) fn fail_if_all_failed(self) -> Result<Self, CallError> {
        if self.has_answer || self.stats.failed.is_empty() {
            return Ok(self);
        }
        if self.stats.failed.iter().all(|it| it.is_late) {
            return Err(CallError::DeadlineExceeded);
        }
        let failed = self.stats.failed.iter();
        let reasons: Vec<String> =
            failed.map(|it| format!("{}: {}", it.source_name, it.reason)).collect();
        Err(CallError::AllSourcesFailed(reasons.join("; ")))
    }
}

/// Returns the milliseconds since `begun`.
pub(super) fn elapsed_ms(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
