//! Where a search looks: sources of the library, and collections.

use vademecum_kit::model::SourceName;

use super::{Toolbox, input::KnowledgeFilters, segments::visible};
use crate::{
    actors::{CallError, Wanted},
    collections::Opened,
};
use vademecum_mcp::Call;

/// What is wanted of the places that a caller names: a source of the library, a
/// collection by its name or URI, or `collections` for all that may be seen. The
/// whole library, if nothing is said.
pub(super) async fn wanted(
    toolbox: &Toolbox,
    call: &Call,
    names: Option<&[String]>,
    filters: KnowledgeFilters,
) -> Result<Vec<Wanted>, CallError> {
    let Some(names) = names else { return Ok(filters.into_wanted(&SourceName::ALL)) };
    if names.is_empty() {
        let problem = "sources: is empty; leave it out to search the whole library";
        return Err(CallError::Invalid(problem.to_owned()));
    }
    let (mut sources, mut others) = (Vec::new(), Vec::new());
    for (index, names) in names.iter().enumerate() {
        // Some send a list as one text. No name has a comma.
        for name in names.split(',').map(str::trim) {
            match name.to_lowercase().parse::<SourceName>() {
                Ok(SourceName::Collections) | Err(_) => others.push((index, name)),
                Ok(source) => sources.push(source),
            }
        }
    }
    let mut wanted = filters.into_wanted(&sources);
    if !others.is_empty() {
        let opened = visible(toolbox, call).await?;
        let chosen = choose(&opened, &others)?;
        wanted.extend(chosen.into_iter().cloned().map(Wanted::collection));
    }
    Ok(wanted)
}

/// The collections that are meant, each once.
fn choose<'o>(opened: &'o [Opened], names: &[(usize, &str)]) -> Result<Vec<&'o Opened>, CallError> {
    let mut chosen = vec![false; opened.len()];
    for (index, name) in names {
        let all = *name == SourceName::Collections.as_str();
        let short = name.strip_prefix("collections://").unwrap_or(name);
        let is_meant = |one: &Opened| all || one.record.name.eq_ignore_ascii_case(short);
        let mut found = false;
        for (one, chosen) in opened.iter().zip(&mut chosen) {
            if is_meant(one) {
                (*chosen, found) = (true, true);
            }
        }
        if !found {
            return Err(unknown(*index, name, opened));
        }
    }
    let chosen = opened.iter().zip(chosen);
    Ok(chosen.filter_map(|(one, chosen)| chosen.then_some(one)).collect())
}

fn unknown(index: usize, name: &str, opened: &[Opened]) -> CallError {
    let sources = SourceName::ALL.map(SourceName::as_str).join(", ");
    let collections: Vec<String> =
        opened.iter().map(|one| format!("`{}`", one.record.name)).collect();
    let collections = if collections.is_empty() {
        "there are no collections".to_owned()
    } else {
        format!("collections are {}", collections.join(", "))
    };
    CallError::Invalid(format!(
        "sources[{index}]: no source or collection is called `{name}`; sources are {sources}; \
         {collections}"
    ))
}
