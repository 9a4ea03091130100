//! Resolves the `sources` argument of a search to sources of the library and collections.

use vademecum_actors::{CallError, SourceSelection, collections::VisibleCollection};
use vademecum_mcp::RequestContext;
use vademecum_model::SourceName;

use super::{ToolServices, input::KnowledgeFilters, segments::visible_collections};

/// Resolves names to selections: a source of the library, a collection by name or URI, or
/// `collections` for every visible collection. `None` selects the whole library; an empty list is
/// an error.
pub(super) async fn resolve_sources(
    services: &ToolServices,
    call: &RequestContext,
    names: Option<&[String]>,
    filters: KnowledgeFilters,
) -> Result<Vec<SourceSelection>, CallError> {
    let Some(names) = names else { return Ok(filters.into_selections(&SourceName::ALL)) };
    if names.is_empty() {
        let problem = "sources: is empty; leave it out to search the whole library";
        return Err(CallError::Invalid(problem.to_owned()));
    }
    let (mut sources, mut others) = (Vec::new(), Vec::new());
    for (index, names) in names.iter().enumerate() {
        // Some clients send a list as one comma-separated string. No name contains a comma.
        for name in names.split(',').map(str::trim) {
            match name.to_lowercase().parse::<SourceName>() {
                Ok(SourceName::Collections) | Err(_) => others.push((index, name)),
                Ok(source) => sources.push(source),
            }
        }
    }
    let mut selections = filters.into_selections(&sources);
    if !others.is_empty() {
        let opened = visible_collections(services, call).await?;
        let chosen = select_collections(&opened, &others)?;
        selections.extend(chosen.into_iter().cloned().map(SourceSelection::collection));
    }
    Ok(selections)
}

/// Selects the named collections, each once, in the order of `opened`.
fn select_collections<'o>(
    opened: &'o [VisibleCollection],
    names: &[(usize, &str)],
) -> Result<Vec<&'o VisibleCollection>, CallError> {
    let mut chosen = vec![false; opened.len()];
    for (index, name) in names {
        let all = *name == SourceName::Collections.as_str();
        let short = name.strip_prefix("collections://").unwrap_or(name);
        let is_meant = |one: &VisibleCollection| all || one.record.name.eq_ignore_ascii_case(short);
        let mut found = false;
        for (one, chosen) in opened.iter().zip(&mut chosen) {
            if is_meant(one) {
                (*chosen, found) = (true, true);
            }
        }
        if !found {
            return Err(unknown_source(*index, name, opened));
        }
    }
    let chosen = opened.iter().zip(chosen);
    Ok(chosen.filter_map(|(one, chosen)| chosen.then_some(one)).collect())
}

fn unknown_source(index: usize, name: &str, opened: &[VisibleCollection]) -> CallError {
    let sources = SourceName::ALL.map(SourceName::as_str).join(", ");
    let collections: Vec<String> =
        opened.iter().map(|one| format!("`{}`", one.record.name)).collect();
    let collections = if collections.is_empty() {
        "there are no collections".to_owned()
    } else {
        format!("collections are {}", collections.join(", "))
    };
    CallError::Invalid(format!(
        "sources[{index}]: unknown source or collection `{name}`; sources are {sources}; \
         {collections}"
    ))
}
