//! `search` and `fetch` for deep-research clients: exactly one argument each, and compact results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors as actors;
use vademecum_actors::CallError;
use vademecum_core::config::RepeatedResults;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{RetrievalMode, RetrievalOptions, SourceName, Uri};

use super::{
    Tool, ToolOutput, ToolResult, ToolServices, input::KnowledgeFilters, output::CompactHit,
    page_output::page_output, render::content_text, resources::read_on_sentence, results_app,
};
use crate::session_calls::read_of_uri;

/// Maximum number of results of a search.
const MAX_RESULTS: usize = 20;

/// `search`: `knowledge.search` with compact results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepResearchSearch {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
}

/// Result of `search`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchOutput {
    /// Results, best first.
    results: Vec<CompactHit>,
}

impl Tool for DeepResearchSearch {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search";
    const DESCRIPTION: &'static str = "Search the user's library. Read a result with fetch.";
    const TOOLSET: Toolset = Toolset::DeepResearch;
    const APP_URI: Option<&'static str> = Some(results_app::URI);
    const HAS_LONG_RESULTS: bool = true;
    type Output = SearchOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let search = actors::SearchRequest {
            query: self.query,
            selections: KnowledgeFilters::default().into_selections(&SourceName::ALL),
            order: None,
            limit: MAX_RESULTS,
            offset: 0,
            snippet_length: None,
            highlight: false,
            preferences: call.defaults.preferences,
            repeated: RepeatedResults::Show,
            vector_query: None,
            spelling: actors::Spelling::Suggest,
        };
        let page = services.search_session(call, call.scope.as_ref(), search).await?;
        let mut replied = page_output(call, page, None);
        if let Some(offset) = replied.output.next_offset {
            // The contract has no field for further results.
            let total = replied.output.total_estimated;
            let read_on = format!(
                "{} of {total} matches; for more, search again or call knowledge.search with \
                 offset {offset}",
                replied.output.results.len()
            );
            let meta = replied.meta.get_or_insert_default();
            meta.insert("vademecum/read_on".to_owned(), read_on.into());
        }
        let hits = replied.output.results.into_iter();
        let results = hits.map(|hit| CompactHit::of_snippet(hit, &services.site)).collect();
        // The deep-research contract requires the text to be the same JSON.
        Ok(ToolOutput { output: SearchOutput { results }, text: None, meta: replied.meta })
    }
}

/// `fetch`: `knowledge.get` with a compact result.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepResearchFetch {
    /// The `id` of a result.
    #[schemars(description = "")]
    id: String,
}

impl Tool for DeepResearchFetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Fetch";
    const DESCRIPTION: &'static str = "Read a result of search in full.";
    const TOOLSET: Toolset = Toolset::DeepResearch;
    const HAS_LONG_RESULTS: bool = true;
    type Output = CompactHit;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let uri: Uri =
            self.id.parse().map_err(|error| CallError::Invalid(format!("id: {error}")))?;
        let (requested_uri, named) = (uri.to_string(), uri.clone());
        let options =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        let read = read_of_uri(uri, options, call.defaults.preferences);
        let item = services.read_item(call, call.scope.as_ref(), read).await?;
        let more = item
            .range
            .and_then(|range| Some((range.next_offset?, read_on_sentence(&requested_uri, range)?)));
        let mut document = CompactHit::new(item.meta, content_text(&item.content), &services.site);
        if let Some(permalink) = services.site.permalink(&named, None) {
            document.url = permalink;
        }
        document.id = requested_uri;
        if let Some((offset, read_on)) = more {
            document.metadata.insert("truncated", "true".to_owned());
            document.metadata.insert("next_offset", offset.to_string());
            document.metadata.insert("read_on", read_on);
        }
        Ok(document.into())
    }
}
