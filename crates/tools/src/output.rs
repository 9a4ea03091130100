//! Output types shared by several tools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use vademecum_actors::{CallError, SearchPage, SourceFailure};
use vademecum_mcp::RequestContext;
use vademecum_model::{Hit, ItemRef, SourceName};
use vademecum_services::permalink::SiteAddress;
use vademecum_store::cooperative_yield;

use super::{ToolOutput, ToolRegistry, render, round_similarity};

/// Largest number of results whose text is rendered on the event loop. Below this size, rendering
/// costs less than a handover to the blocking pool.
pub(super) const MAX_INLINE_RESULTS: usize = 20;
/// Maximum number of tags listed with a result.
const MAX_TAGS: usize = 20;

/// A page of search results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchResponse<R> {
    /// Results, best or newest first.
    pub(crate) results: R,
    /// Whether more results exist.
    pub(crate) has_more: bool,
    /// `offset` of the next page.
    pub(crate) next_offset: Option<usize>,
    /// Estimated number of all matches.
    pub(crate) total_estimated: usize,
    /// Notes about this page.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(crate) meta: Option<PageNotes>,
}

/// Sentence for a query whose phrase occurs nowhere.
pub const PHRASE_NOT_FOUND: &str =
    "The quoted words do not occur together; search for them without quotes.";

/// Notes about a page of results, for the model and for `_meta`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct PageNotes {
    /// Sources that failed, with the reason; their hits are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_sources: Vec<SourceFailure>,
    /// Sources in which the filter by tags finds nothing because no item has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_tags: Vec<SourceName>,
    /// Number of results left out to keep `max_tokens`.
    left_out: Option<usize>,
    /// Number of results omitted because this session has shown them before.
    already_shown: Option<usize>,
    /// Whether the session had shown every result and started over.
    restarted: Option<bool>,
    /// Query searched for instead, with words that occur in place of some that do not. All scores are
    /// halved.
    searched_for: Option<String>,
    /// Query with words that occur, in place of some that do not.
    did_you_mean: Option<String>,
    /// Whether nothing was found because a phrase occurs nowhere.
    phrase_not_found: Option<bool>,
    /// Number of items that have no vectors yet.
    vectors_missing: Option<usize>,
    /// Reason for a full-text search although vectors were requested.
    without_vectors: Option<String>,
    /// Cosine similarity below which vector hits are coincidences.
    similarity_floor: Option<f64>,
    /// Session handle, to be passed as `session`.
    session: Option<String>,
}

/// Results in the requested shape.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SearchResults {
    /// All fields of a hit.
    Full(Vec<Hit>),
    /// The shape of deep-research clients.
    Compact(Vec<CompactHit>),
}

/// A result in the shape of deep-research clients.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompactHit {
    /// Argument of `fetch`: the URI.
    pub(crate) id: String,
    /// Title or name.
    pub(crate) title: String,
    /// The snippet, or the full text.
    pub(crate) text: String,
    /// Web address of the item on the pages of this server; without one, that of the publication.
    pub(crate) url: String,
    /// Other known fields, by name.
    pub(crate) metadata: BTreeMap<&'static str, String>,
}

impl CompactHit {
    /// Converts a hit, with `text` as its text.
    pub(crate) fn new(hit: Hit, text: String, site: &SiteAddress) -> Self {
        let permalink = site.permalink(&hit.uri, hit.loc.as_ref());
        let mut metadata = BTreeMap::from([
            ("source", hit.source.to_string()),
            ("origin", hit.origin.as_str().to_owned()),
        ]);
        let mut note = |name, value: Option<String>| {
            if let Some(value) = value {
                metadata.insert(name, value);
            }
        };
        note("created_at", hit.created_at.map(|moment| moment.to_string()));
        note("last_modified", hit.last_modified.map(|moment| moment.to_string()));
        note("media_type", hit.media_type);
        note("sender", hit.sender);
        let titles = |items: &[ItemRef]| {
            let shown = items.iter().map(|it| format!("{} ({})", it.title, it.uri));
            (!items.is_empty()).then(|| shown.collect::<Vec<_>>().join("; "))
        };
        note("supersedes", titles(&hit.supersedes));
        note("superseded_by", titles(&hit.superseded_by));
        note("omitted_tags", hit.omitted_tags.map(|count| count.to_string()));
        note("tags", hit.tags.filter(|tags| !tags.is_empty()).map(|tags| tags.join(", ")));
        let openable = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        let published = hit.url.filter(openable);
        if permalink.is_some() {
            note("web_address", published.clone());
        }
        Self {
            id: hit.uri.to_string(),
            title: hit.title.unwrap_or_else(|| hit.uri.to_string()),
            text,
            url: permalink.or(published).unwrap_or_default(),
            metadata,
        }
    }

    /// Converts a hit, with its snippet as its text.
    pub(crate) fn of_snippet(mut hit: Hit, site: &SiteAddress) -> Self {
        let snippet = hit.snippet.take().unwrap_or_default();
        Self::new(hit, snippet, site)
    }
}

impl SearchResults {
    /// Returns the URIs of the results.
    pub(super) fn uris(&self) -> Vec<String> {
        match self {
            Self::Full(hits) => hits.iter().map(|hit| hit.uri.to_string()).collect(),
            Self::Compact(hits) => hits.iter().map(|hit| hit.id.clone()).collect(),
        }
    }
}

impl<R> SearchResponse<R> {
    /// Returns the same page with its results converted by `shape`.
    pub(crate) fn map_results<S>(self, shape: impl FnOnce(R) -> S) -> SearchResponse<S> {
        let Self { results, has_more, next_offset, total_estimated, meta } = self;
        SearchResponse { results: shape(results), has_more, next_offset, total_estimated, meta }
    }

    /// Returns the words searched for instead of the query as typed.
    pub(crate) fn corrected_query(&self) -> Option<&str> {
        self.meta.as_ref()?.searched_for.as_deref()
    }

    /// Returns the notes of the page as sentences.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let Some(about) = &self.meta else { return Vec::new() };
        let mut remarks = Vec::new();
        if let Some(words) = &about.searched_for {
            remarks.push(format!("Some words occur nowhere; searched for: {words}."));
        }
        if let Some(words) = &about.did_you_mean {
            remarks.push(format!("Some words occur nowhere. Did you mean: {words}?"));
        }
        if about.phrase_not_found == Some(true) {
            remarks.push(PHRASE_NOT_FOUND.to_owned());
        }
        if let Some(count) = about.left_out {
            remarks.push(format!("max_tokens left out {count} results of this page."));
        }
        if let Some(count) = about.already_shown {
            remarks.push(format!("{count} already shown in this session are omitted."));
        }
        if about.restarted == Some(true) {
            remarks.push("This session had shown all results; it starts over.".to_owned());
        }
        if !about.without_tags.is_empty() {
            let names: Vec<_> = about.without_tags.iter().map(|source| source.as_str()).collect();
            remarks.push(format!("No item has tags in {}.", names.join(", ")));
        }
        for failed in &about.failed_sources {
            remarks.push(format!("No answer from {}: {}.", failed.display_name(), failed.reason));
        }
        if let Some(count) = about.vectors_missing {
            remarks.push(format!("{count} items have no vectors yet; search again later."));
        }
        if let Some(reason) = &about.without_vectors {
            remarks.push(format!("Full text only: {reason}."));
        }
        if let Some(handle) = &about.session {
            remarks.push(format!("session: {handle}"));
        }
        remarks
    }
}

/// Converts a page to a tool output and records its items for the audit log.
pub(crate) fn page_output(
    call: &RequestContext,
    page: SearchPage,
    session: Option<String>,
) -> ToolOutput<SearchResponse<Vec<Hit>>> {
    call.items.record(page.hits.iter().map(|hit| &hit.uri));
    unrecorded_output(page, session)
}

/// Converts a page to a tool output. Its notes are part of the output, for the model, and of `_meta`,
/// for the client.
pub(super) fn unrecorded_output(
    mut page: SearchPage,
    session: Option<String>,
) -> ToolOutput<SearchResponse<Vec<Hit>>> {
    page.hits.iter_mut().for_each(|hit| hit.limit_tags(MAX_TAGS));
    let about = PageNotes {
        without_tags: page.without_tags,
        left_out: (page.left_out > 0).then_some(page.left_out),
        already_shown: (page.skipped > 0 && !page.restarted).then_some(page.skipped),
        failed_sources: page.failed,
        restarted: page.restarted.then_some(true),
        searched_for: page.searched_for,
        did_you_mean: page.did_you_mean,
        phrase_not_found: page.phrase_not_found.then_some(true),
        vectors_missing: (page.missing_vectors > 0).then_some(page.missing_vectors),
        without_vectors: page.vectors_skipped_reason,
        similarity_floor: page.similarity_floor.map(round_similarity),
        session,
    };
    let about = (about != PageNotes::default()).then_some(about);
    let meta = about.as_ref().and_then(|about| match serde_json::to_value(about) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    });
    let output = SearchResponse {
        results: page.hits,
        has_more: page.next_offset.is_some(),
        next_offset: page.next_offset,
        total_estimated: page.total,
        meta: about,
    };
    ToolOutput { output, text: None, meta: meta.map(prefix_meta_keys) }
}

impl ToolOutput<SearchResponse<Vec<Hit>>> {
    /// Adds the rendered text, if text answers are configured. Long pages are rendered on the
    /// blocking pool, not on the event loop.
    pub(crate) async fn with_text(
        self,
        toolbox: &ToolRegistry,
        call: &RequestContext,
        query: &str,
    ) -> Result<Self, CallError> {
        if !toolbox.wants_text() {
            return Ok(self);
        }
        if self.output.results.len() <= MAX_INLINE_RESULTS {
            return Ok(Self {
                text: Some(render::render_page(query, &self.output, || ())),
                ..self
            });
        }
        let query = query.to_owned();
        let write = move || Self {
            text: Some(render::render_page(&query, &self.output, cooperative_yield)),
            ..self
        };
        toolbox.run_blocking(call, write).await
    }
}

fn prefix_meta_keys(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (format!("vademecum/{name}"), value)).collect()
}
