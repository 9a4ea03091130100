//! `knowledge.list`: lists items by date, tag, folder or type, without a query.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vademecum_actors::{CallContext, CallError, ListItems};
use vademecum_mcp::{LogLevel, RequestContext};
use vademecum_model::{
    Facet, Filters, LinkState, ListOrder, ListRequest, PropertyCondition, SourceName, TaskState,
    Timestamp,
};
use vademecum_vault::links::{FilePaths, PathPattern};

use super::{
    Tool, ToolOutput, ToolResult, ToolServices,
    input::{BoundedNumber, EndTimestamp, KnowledgeFilters, Offset},
    list_output::{ListResponse, render_list, to_response},
    results_app, source_resolution,
};

/// Default number of items on a page.
const DEFAULT_LIMIT: usize = 10;
/// Maximum size of the items on a page without a `limit`, as JSON and as text, in bytes.
const MAX_DEFAULT_PAGE_BYTES: usize = 3_800;
/// Maximum number of properties, and of tags, that a list requires.
const MAX_CONDITIONS: usize = 50;
/// Maximum length of the beginning of a text, in characters.
const SNIPPET_CHARS: usize = 80;
/// Lists items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeList {
    /// Names of sources.
    #[schemars(description = "")]
    sources: Option<Vec<String>>,
    /// Any of these.
    tags: Option<Vec<String>>,
    /// Only notes in this folder or below it, such as `Projects/House`.
    #[schemars(description = "As a/b.")]
    folder: Option<String>,
    /// Only items from this file, the files in this folder, or those that a pattern such as `2026-*.md` matches.
    #[schemars(description = "")]
    path: Option<String>,
    /// Only notes with these properties: values, or `>=7`, `!=x`, `*` (any), null (none).
    #[schemars(description = "{rating: \">=7\"}; * any, null none.")]
    properties: Option<Map<String, Value>>,
    /// Only notes with a task in this state.
    #[schemars(extend("description" = ""))]
    tasks: Option<TaskState>,
    /// Only notes with broken links, without links to them, or without links in both directions.
    #[schemars(extend("description" = ""))]
    links: Option<LinkState>,
    /// Only media of these types.
    #[schemars(description = "")]
    media_types: Option<Vec<String>>,
    /// Only items changed then or later.
    #[schemars(description = "")]
    after: Option<Timestamp>,
    /// Only items changed earlier.
    #[schemars(description = "")]
    before: Option<Timestamp>,
    /// Last modified first, last created first, or by title.
    #[schemars(extend("description" = ""))]
    order_by: Option<ListOrder>,
    /// Maximum number of items; 0 if only `facets` are wanted, which is their default.
    #[schemars(description = "", extend("default" = 10))]
    limit: Option<BoundedNumber<0, 100>>,
    /// Number of items to skip.
    #[schemars(description = "", extend("default" = 0))]
    offset: Option<Offset>,
    /// Lists the items as they were then; a date means the end of that day.
    #[schemars(extend("description" = ""))]
    as_of: Option<EndTimestamp>,
    /// Properties to count over all items that match.
    #[schemars(description = "To count.")]
    facets: Option<Vec<Facet>>,
}

impl Tool for KnowledgeList {
    const NAME: &'static str = "knowledge.list";
    const TITLE: &'static str = "List items";
    const DESCRIPTION: &'static str = "List or count items without a query; no collections.";
    const APP_URI: Option<&'static str> = Some(results_app::URI);
    type Output = ListResponse;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let sources = self.resolve_sources(services, call).await?;
        let conditions = self.conditions()?;
        let linked = self.notes_by_links(services, call).await?;
        let facets = distinct(self.facets.unwrap_or_default());
        let default_limit = if facets.is_empty() { DEFAULT_LIMIT } else { 0 };
        let limit = self.limit.map_or(default_limit, |limit| limit.0);
        let offset = self.offset.unwrap_or_default().0;
        let filters = Filters {
            after: self.after,
            before: self.before,
            tags: self.tags.unwrap_or_default(),
            media_types: self.media_types.unwrap_or_default(),
            ..Filters::default()
        };
        let order = self.order_by.unwrap_or_default();
        let library = services.registry.library(&call.principal);
        if self.as_of.is_some() {
            let has_conditions = conditions.has_note_conditions() || conditions.path.is_some();
            check_past_list(&facets, has_conditions || linked.is_some(), library.is_restricted())?;
        }
        let list = ListItems {
            sources,
            request: ListRequest {
                filters,
                folder: self.folder,
                order,
                take: limit,
                facets,
                only: linked.as_ref().map(|notes| notes.keys().cloned().collect()),
                ..conditions
            },
            offset,
            snippet_length: SNIPPET_CHARS,
            as_of: self.as_of.map(|end| end.0),
            context: CallContext::from_request(call),
        };
        let page = library.list_items(list).await?;
        for failed in &page.failed {
            call.send_log(LogLevel::Warning, &json!(failed));
        }
        let max_bytes = if self.limit.is_none() { MAX_DEFAULT_PAGE_BYTES } else { usize::MAX };
        let output = to_response(page, &linked.unwrap_or_default(), offset, max_bytes);
        call.items.record(output.results.iter().map(|entry| &entry.uri));
        let text = services.text(|| render_list(&output));
        let meta = output.notes.as_ref().map(|notes| {
            Map::from_iter([("vademecum/failed_sources".to_owned(), json!(notes.failed_sources))])
        });
        Ok(ToolOutput { output, text, meta })
    }
}

impl KnowledgeList {
    /// Returns the conditions on paths, properties and tasks.
    fn conditions(&self) -> Result<ListRequest, CallError> {
        let counts = [
            ("properties", self.properties.as_ref().map_or(0, Map::len)),
            ("tags", self.tags.as_ref().map_or(0, Vec::len)),
        ];
        if let Some((name, count)) = counts.into_iter().find(|(_, count)| *count > MAX_CONDITIONS) {
            let problem = format!("{name}: expected at most {MAX_CONDITIONS}, got {count}");
            return Err(CallError::Invalid(problem));
        }
        let properties = self.properties.iter().flatten().map(|(name, value)| {
            PropertyCondition::parse(name, value)
                .map_err(|problem| CallError::Invalid(format!("properties.{name}: {problem}")))
        });
        let path = self.path.clone();
        if let Some(problem) = path.as_deref().and_then(PathPattern::problem) {
            return Err(CallError::Invalid(format!("path: {problem}")));
        }
        Ok(ListRequest {
            path,
            properties: properties.collect::<Result<_, _>>()?,
            tasks: self.tasks,
            ..ListRequest::default()
        })
    }

    /// Returns the notes whose links are in the requested state, with the targets of broken ones.
    async fn notes_by_links(
        &self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> Result<Option<HashMap<String, Vec<String>>>, CallError> {
        let Some(state) = self.links else { return Ok(None) };
        let files = match state {
            LinkState::Broken => services.files_without_items(call).await?,
            LinkState::Orphan | LinkState::Unlinked => FilePaths::default(),
        };
        let library = services.registry.library(&call.principal);
        let graph = library.link_graph(services.deadline(call));
        Ok(Some(graph.notes_by_links(state, &files).await?))
    }

    /// Returns the sources that can have the requested items. A filter that only one source has
    /// excludes the others; it is an error if they alone were requested.
    async fn resolve_sources(
        &self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> Result<Vec<SourceName>, CallError> {
        let filters = KnowledgeFilters::default();
        let names = self.sources.as_deref();
        let selections = source_resolution::resolve_sources(services, call, names, filters).await?;
        if selections.iter().any(|selection| selection.from_collection.is_some()) {
            let problem = "sources: collections are not listed; search them with knowledge.search";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        let mut sources: Vec<SourceName> =
            selections.into_iter().map(|selection| selection.from_source).collect();
        for (argument, is_given, source) in [
            ("folder", self.folder.is_some(), SourceName::Notes),
            ("properties", self.properties.is_some(), SourceName::Notes),
            ("tasks", self.tasks.is_some(), SourceName::Notes),
            ("links", self.links.is_some(), SourceName::Notes),
            ("media_types", self.media_types.is_some(), SourceName::Media),
        ] {
            if is_given {
                sources.retain(|it| *it == source);
                if sources.is_empty() {
                    let problem = format!(
                        "{argument}: only `{source}` has this; leave out the other filters and \
                         `sources` that exclude it"
                    );
                    return Err(CallError::Invalid(problem));
                }
            }
        }
        Ok(sources)
    }
}

/// Fails if a list of the past cannot have these facets or conditions, or not for this caller.
fn check_past_list(
    facets: &[Facet],
    has_conditions: bool,
    is_restricted: bool,
) -> Result<(), CallError> {
    if has_conditions {
        let problem = "as_of: path, properties, tasks and links are those of the present items; leave \
                       them out, or as_of";
        return Err(CallError::Invalid(problem.to_owned()));
    }
    if is_restricted {
        let problem = "as_of: a caller who does not see all items gets no earlier versions";
        return Err(CallError::Refused(problem.to_owned()));
    }
    if facets.is_empty() {
        return Ok(());
    }
    let problem = "facets: they count the present items; leave out facets or as_of";
    Err(CallError::Invalid(problem.to_owned()))
}

/// Returns the facets without repetitions.
fn distinct(mut facets: Vec<Facet>) -> Vec<Facet> {
    facets.sort_unstable();
    facets.dedup();
    facets
}
