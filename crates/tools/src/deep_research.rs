//! `search` and `fetch` for deep-research clients: one listed argument each, and compact results.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::{CallError, Spelling};
use vademecum_core::config::RepeatedResults;
use vademecum_mcp::{RequestContext, Scope, Toolset};
use vademecum_model::{RetrievalMode, RetrievalOptions, SourceName, Uri};

use super::{
    Tool, ToolOutput, ToolResult, ToolServices,
    input::{AsOfInput, split_uri},
    knowledge::{KnowledgeSearch, SearchDefaults},
    output::CompactHit,
    page_output::page_output,
    render::content_text,
    resources::read_on_sentence,
    results_app,
};
use crate::session_calls::read_of_uri;

/// `search`: `knowledge.search` with compact results. Its schema has the one argument of the contract; the optional
/// ones of `knowledge.search` are taken, too.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct DeepResearchSearch(KnowledgeSearch);

/// The listed argument of `search`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SearchArgument {
    /// A question or words.
    query: String,
}

impl JsonSchema for DeepResearchSearch {
    fn schema_name() -> Cow<'static, str> {
        "DeepResearchSearch".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        SearchArgument::json_schema(generator)
    }
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
        let handle = self.0.session().map(|handle| Scope::Handle(handle.to_owned()));
        let scope = handle.as_ref().or(call.scope.as_ref());
        let defaults =
            SearchDefaults { spelling: Spelling::Suggest, repeated: RepeatedResults::Show };
        let page = self.0.search_page(services, call, scope, defaults).await?;
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

/// `fetch`: `knowledge.get` with a compact result. Its schema has the one argument of the contract.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepResearchFetch {
    /// The `id` of a result.
    #[schemars(description = "")]
    id: String,
    /// What to read, as `knowledge.get` takes it; default the whole text. Not listed.
    #[schemars(skip)]
    retrieval: Option<RetrievalOptions>,
    /// The item as it was at a time or version. Not listed.
    #[schemars(skip)]
    as_of: Option<AsOfInput>,
    /// Keep invisible characters. Not listed.
    #[schemars(skip)]
    raw: Option<bool>,
    /// Source of an `id` that is no URI. Not listed.
    #[schemars(skip)]
    source: Option<SourceName>,
}

impl Tool for DeepResearchFetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Fetch";
    const DESCRIPTION: &'static str = "Read a result in full.";
    const TOOLSET: Toolset = Toolset::DeepResearch;
    const HAS_LONG_RESULTS: bool = true;
    type Output = CompactHit;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let uri: Uri = match self.source {
            Some(source) if !self.id.contains("://") => Uri::item(source, self.id),
            _ => self.id.parse().map_err(|error| CallError::Invalid(format!("id: {error}")))?,
        };
        let (requested_uri, named) = (uri.to_string(), uri.clone());
        let mut options = self.retrieval.unwrap_or_default();
        options.mode.get_or_insert(RetrievalMode::Full);
        let item = if let Some(AsOfInput(as_of)) = self.as_of {
            let source = uri.source;
            let (id, part) = split_uri(uri);
            services.read_past_item(call, (source, id, part), as_of, options).await?.output
        } else {
            let read = read_of_uri(uri, options, call.defaults.preferences);
            services.read_item(call, call.scope.as_ref(), read).await?
        };
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
