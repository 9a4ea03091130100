//! What the searches answer.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vademecum_collections::Passage;
use vademecum_kit::{
    model::Deadline,
    retrieve::{Finder, FtsQuery},
    source::SourceError,
};

use super::limits::ANSWER_BYTES;
use crate::{
    actors::CallError,
    collections::{
        Opened,
        retrieve::{self, Found, List, Missing},
    },
};

/// Characters of a snippet.
const SNIPPET: usize = 300;

/// What a result shows.
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
    /// BM25 and distances as they are; default false.
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

/// The chunks that were found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Response {
    /// Best first.
    pub(super) results: Vec<Chunk>,
    /// Whether there are more that match.
    pub(super) truncated: bool,
    /// How it went.
    pub(super) stats: Stats,
}

/// A chunk that was found.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the contract names them so")]
pub(super) struct Chunk {
    /// The chunk.
    chunk_id: String,
    /// The document that it is of.
    doc_id: String,
    /// The number of its source.
    source_id: i64,
    /// The name of its source.
    source_name: String,
    /// How well it fits: 0 to 1, higher is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// How well its words fit: 0 to 1, higher is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_fts: Option<f64>,
    /// How near its vector is, (1 + cosine) / 2: 0 to 1, higher is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_vec: Option<f64>,
    /// BM25: higher is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_fts_raw: Option<f64>,
    /// The distance of its vector: lower is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance_raw: Option<f64>,
    /// The document's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What else is known of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    /// Where most of the query stands together.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    /// Where it stood in each list.
    #[serde(skip_serializing_if = "Option::is_none")]
    debug: Option<Debug>,
}

/// Where a chunk stood in each list, counted from 1; 0 if it was not in it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Debug {
    rank_fts: usize,
    rank_vec: usize,
}

/// How a search went.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct Stats {
    /// How the lists were made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<&'static str>,
    /// How many were asked for.
    pub(super) k_requested: i64,
    /// How many there are.
    k_returned: usize,
    /// Milliseconds.
    ms: u64,
    /// Why only words were searched for, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) degraded: Option<String>,
    /// Collections that gave no answer, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failure>,
}

/// A collection that gave no answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Failure {
    source_name: String,
    reason: String,
}

/// What is shown of a list.
pub(super) struct Shown {
    pub(super) what: ReturnInput,
    pub(super) query: Option<Arc<FtsQuery>>,
    /// Which scores are named.
    pub(super) is_hybrid: bool,
    pub(super) offset: usize,
    pub(super) k: usize,
}

impl Shown {
    /// Reads what is shown of a list.
    pub(super) fn read(
        &self,
        opened: &[Opened],
        list: &List,
        deadline: &Deadline,
    ) -> Result<Response, SourceError> {
        let page: Vec<Found> = list.found.iter().skip(self.offset).take(self.k).cloned().collect();
        let passages = retrieve::read(opened, &page, deadline)?;
        let mut truncated = list.more || list.found.len() > self.offset + page.len();
        let mut results = Vec::with_capacity(page.len());
        let mut bytes = 0;
        for (found, passage) in page.iter().zip(passages) {
            let Some(passage) = passage else { continue };
            let chunk = self.chunk(found, passage);
            bytes += serde_json::to_string(&chunk).map_or(0, |json| json.len());
            if bytes > ANSWER_BYTES {
                truncated = true;
                break;
            }
            results.push(chunk);
        }
        let failed = list.failed.iter().map(|Missing { name, reason }| Failure {
            source_name: name.clone(),
            reason: reason.clone(),
        });
        let k_returned = results.len();
        let stats = Stats { k_returned, failed: failed.collect(), ..Stats::default() };
        Ok(Response { results, truncated, stats })
    }

    fn chunk(&self, found: &Found, passage: Passage) -> Chunk {
        let what = self.what;
        let raw = |leg: Option<retrieve::Leg>| leg.map(|leg| leg.raw).filter(|_| what.include_raw);
        let rank = |leg: Option<retrieve::Leg>| leg.map_or(0, |leg| leg.rank);
        let snippet = what.include_snippets.then(|| self.snippet(&passage.body));
        let chunk_id = passage.id().to_string();
        let document = passage.document;
        Chunk {
            chunk_id,
            doc_id: document.doc_id,
            source_id: document.source_id,
            source_name: document.source_name,
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
                .then(|| Debug { rank_fts: rank(found.fts), rank_vec: rank(found.vector) }),
        }
    }

    fn snippet(&self, body: &str) -> String {
        let Some(query) = &self.query else {
            return vademecum_kit::retrieve::snippet(body, None, SNIPPET);
        };
        let finder = Finder::new(query, SNIPPET);
        let place = finder.look(body).densest;
        finder.excerpt(body, place).snippet
    }
}

impl Response {
    /// The same with what the caller asked for and how long it took.
    pub(super) fn timed(mut self, k_requested: i64, begun: Instant) -> Self {
        self.stats.k_requested = k_requested;
        self.stats.ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// An answer without anything because every collection failed is none.
    pub(super) fn or_failure(self) -> Result<Self, CallError> {
        if !self.results.is_empty() || self.stats.failed.is_empty() {
            return Ok(self);
        }
        let failed = self.stats.failed.iter();
        let reasons: Vec<String> =
            failed.map(|it| format!("{}: {}", it.source_name, it.reason)).collect();
        Err(CallError::NoAnswer(reasons.join("; ")))
    }
}

/// Milliseconds that a call has taken.
pub(super) fn since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
