//! Pages of search results as outputs of tools, with their text.

use serde_json::{Map, Value};
use vademecum_actors::{CallError, SearchPage};
use vademecum_mcp::RequestContext;
use vademecum_model::Hit;
use vademecum_store::cooperative_yield;

use super::{ToolOutput, ToolServices, render, round_similarity};
use crate::output::{MAX_TAGS, PageNotes, SearchResponse};

/// Largest number of results whose text is rendered on the event loop. Below this size, rendering
/// costs less than a handover to the blocking pool.
pub(super) const MAX_INLINE_RESULTS: usize = 20;

/// Converts a page to a tool output and records its items for the audit log.
pub(crate) fn page_output(
    call: &RequestContext,
    page: SearchPage,
    session: Option<String>,
) -> ToolOutput<SearchResponse<Vec<Hit>>> {
    call.items.record_hits(&page.hits);
    unrecorded_output(page, session)
}

/// Converts a page to a tool output. Its notes are part of the output, for the model, and of `_meta`,
/// for the client.
pub(super) fn unrecorded_output(
    mut page: SearchPage,
    session: Option<String>,
) -> ToolOutput<SearchResponse<Vec<Hit>>> {
    page.hits.iter_mut().for_each(|hit| hit.limit_tags(MAX_TAGS));
    let lacks_answer = page.lacks_answer || page.total == 0;
    let about = PageNotes {
        found: (lacks_answer && page.total > 0).then_some(false),
        without_tags: page.without_tags,
        left_out: (page.left_out > 0).then_some(page.left_out),
        ranks: if page.already_shown.is_empty() {
            Vec::new()
        } else {
            page.offsets.iter().map(|offset| offset + 1).collect()
        },
        already_shown: page.already_shown,
        more_already_shown: (page.more_already_shown > 0).then_some(page.more_already_shown),
        failed_sources: page.failed,
        restarted: page.restarted.then_some(true),
        searched_for: page.searched_for,
        did_you_mean: page.did_you_mean,
        phrase_not_found: (!page.signs.loosened.is_empty()).then_some(true),
        loosened: page.signs.loosened,
        required: page.signs.required,
        excluded: page.signs.excluded,
        ignored: page.signs.ignored,
        dates: page.dates.map(|dates| [dates.after, dates.before]),
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
        found: !lacks_answer,
        meta: about,
    };
    ToolOutput { output, text: None, meta: meta.map(prefix_meta_keys) }
}

impl ToolOutput<SearchResponse<Vec<Hit>>> {
    /// Adds the rendered text, if text answers are configured. Long pages are rendered on the
    /// blocking pool, not on the event loop.
    pub(crate) async fn with_text(
        self,
        services: &ToolServices,
        call: &RequestContext,
        query: &str,
    ) -> Result<Self, CallError> {
        if !services.wants_text() {
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
        services.run_blocking(call, write).await
    }
}

fn prefix_meta_keys(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (format!("vademecum/{name}"), value)).collect()
}
