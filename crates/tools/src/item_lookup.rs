//! Items named by title, path or address instead of an id.

use futures_util::future::try_join_all;
use vademecum_actors::{CallError, SearchRequest, SourceSelection, Spelling};
use vademecum_core::config::RepeatedResults;
use vademecum_mcp::RequestContext;
use vademecum_model::{Filters, Hit, ItemId, ItemName, SourceName, Uri};

use super::{ToolServices, input::resolve_item_id};

/// Maximum number of items that an error lists.
const MAX_CANDIDATES: usize = 10;
/// Number of items with a similar title that an error suggests.
const SUGGESTIONS: usize = 3;

/// An item as the caller names it, with the name of the argument.
#[derive(Clone, Debug)]
pub(super) struct ItemReference {
    argument: &'static str,
    value: ReferenceValue,
}

#[derive(Clone, Debug)]
enum ReferenceValue {
    Id(ItemId),
    Name(ItemName),
}

/// The source and the id of an item, and its part: a message, or the heading of a section.
pub(super) type FoundItem = (SourceName, ItemId, Option<String>);

impl ItemReference {
    /// Returns the only one of several arguments that is given: an id, or a name.
    pub(super) fn only(
        id: (&'static str, Option<ItemId>),
        names: impl IntoIterator<Item = (&'static str, Option<ItemName>)>,
    ) -> Result<Self, CallError> {
        let mut arguments = vec![id.0];
        let mut given: Vec<Self> = Vec::new();
        given.extend(id.1.map(|it| Self { argument: id.0, value: ReferenceValue::Id(it) }));
        for (argument, name) in names {
            arguments.push(argument);
            given.extend(name.map(|it| Self { argument, value: ReferenceValue::Name(it) }));
        }
        let all = arguments.join(", ");
        match (given.pop(), given.pop()) {
            (Some(only), None) => Ok(only),
            (Some(last), Some(other)) => Err(CallError::Invalid(format!(
                "{}: pass only one of {all}, not `{}` too",
                last.argument, other.argument
            ))),
            (None, _) => {
                Err(CallError::Invalid(format!("{}: is missing; pass one of {all}", id.0)))
            }
        }
    }

    /// Returns the given id, if it is one.
    pub(super) fn id(&self) -> Option<&ItemId> {
        match &self.value {
            ReferenceValue::Id(id) => Some(id),
            ReferenceValue::Name(_) => None,
        }
    }

    /// Finds the item in `sources`. An id is not looked up; it belongs to the first source. A name
    /// that several items have is an error that lists them, and for one that no item has, the best
    /// matches of its words are suggested.
    pub(super) async fn find(
        self,
        services: &ToolServices,
        call: &RequestContext,
        sources: &[SourceName],
    ) -> Result<FoundItem, CallError> {
        let first = sources.first().copied().unwrap_or(SourceName::Notes);
        let name = match self.value {
            ReferenceValue::Id(id) => {
                let (id, part) = resolve_item_id(first, id)?;
                return Ok((first, id, part));
            }
            ReferenceValue::Name(name) if name.as_str().trim().is_empty() => {
                return Err(CallError::Invalid(format!("{}: is empty", self.argument)));
            }
            ReferenceValue::Name(name) => name,
        };
        let (mut found, section) = find_named(services, call, sources, &name).await?;
        match (found.len(), found.pop()) {
            (1, Some(hit)) => Ok((hit.source, hit.id, section)),
            (_, None) => Err(unknown_name(services, call, sources, self.argument, &name).await),
            (_, Some(last)) => {
                found.push(last);
                call.items.record_hits(&found);
                Err(ambiguous_name(self.argument, &name, &found))
            }
        }
    }
}

/// Maximum number of number signs in a name at which it may end.
const MAX_SPLITS: usize = 8;

/// Finds the items with a name. If none has it, the part after a number sign is the heading of a section.
async fn find_named(
    services: &ToolServices,
    call: &RequestContext,
    sources: &[SourceName],
    name: &ItemName,
) -> Result<(Vec<Hit>, Option<String>), CallError> {
    let library = services.registry.library(&call.principal);
    let find = async |name: &ItemName| {
        let searched = sources.iter().filter_map(|source| library.source(*source));
        let found = searched.map(|source| {
            source.find_items(name.clone(), MAX_CANDIDATES + 1, services.deadline(call))
        });
        let found: Vec<Vec<Hit>> = try_join_all(found).await?;
        Ok::<_, CallError>(found.into_iter().flatten().collect::<Vec<Hit>>())
    };
    let found = find(name).await?;
    let is_split = !matches!(name, ItemName::Url(_));
    if !found.is_empty() || !is_split {
        return Ok((found, None));
    }
    for (at, _) in name.as_str().rmatch_indices('#').take(MAX_SPLITS) {
        let (before, after) = name.as_str().split_at(at);
        let heading = after.trim_start_matches('#').trim();
        if before.trim().is_empty() || heading.is_empty() {
            continue;
        }
        let found = find(&name.with_text(before.trim())).await?;
        if !found.is_empty() {
            return Ok((found, Some(heading.to_owned())));
        }
    }
    Ok((Vec::new(), None))
}

/// Returns the URI of an item, or of a section, that the argument `uri` names by its URI, or by its title.
pub(super) async fn find_uri(
    services: &ToolServices,
    call: &RequestContext,
    text: &str,
) -> Result<Uri, CallError> {
    match text.parse::<Uri>() {
        Ok(uri) => Ok(uri),
        Err(error) if text.contains("://") => Err(CallError::Invalid(format!("uri: {error}"))),
        Err(_) => {
            let name = ReferenceValue::Name(ItemName::Title(text.to_owned()));
            let named = ItemReference { argument: "uri", value: name };
            let (source, id, part) = named.find(services, call, &SourceName::ALL).await?;
            Ok(Uri { part, ..Uri::item(source, id.to_string()) })
        }
    }
}

fn ambiguous_name(argument: &str, name: &ItemName, found: &[Hit]) -> CallError {
    let listed = found.iter().take(MAX_CANDIDATES).map(describe).collect::<Vec<_>>().join("; ");
    let (count, more) = if found.len() > MAX_CANDIDATES {
        (format!("more than {MAX_CANDIDATES}"), "; …")
    } else {
        (found.len().to_string(), "")
    };
    let name = name.as_str();
    CallError::Invalid(format!(
        "{argument}: {count} items are named `{name}`; pass the uri of one as id: {listed}{more}"
    ))
}

/// Returns the error for a name that no item has.
async fn unknown_name(
    services: &ToolServices,
    call: &RequestContext,
    sources: &[SourceName],
    argument: &str,
    name: &ItemName,
) -> CallError {
    let near = find_similar(services, call, sources, name).await;
    call.items.record_hits(&near);
    let near = near.iter().map(describe).collect::<Vec<_>>().join("; ");
    let near = if near.is_empty() { near } else { format!("; the best matches are {near}") };
    CallError::NotFound(format!("{argument}: no item is named `{}`{near}", name.as_str()))
}

/// Returns the best matches of the words of a name: those with a similar title come first. Without
/// any, or if the search fails, the result is empty.
async fn find_similar(
    services: &ToolServices,
    call: &RequestContext,
    sources: &[SourceName],
    name: &ItemName,
) -> Vec<Hit> {
    let text = match name {
        ItemName::Title(title) => title.as_str(),
        ItemName::Path(path) => {
            let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
            file.rsplit_once('.').map_or(file, |(stem, _)| stem)
        }
        // The titles of documents do not resemble their addresses.
        ItemName::Url(_) => return Vec::new(),
    };
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let selections = sources.iter().filter(|it| **it != SourceName::Collections);
    let search = SearchRequest {
        query: words.join(" "),
        selections: selections
            .map(|source| SourceSelection::source(*source, Filters::default()))
            .collect(),
        order: None,
        limit: SUGGESTIONS,
        offset: 0,
        snippet_length: None,
        highlight: false,
        preferences: call.defaults.preferences,
        repeated: RepeatedResults::Show,
        vector_query: None,
        spelling: Spelling::Repair,
    };
    let page = services.search_session(call, None, search).await;
    page.map(|page| page.hits).unwrap_or_default()
}

/// Describes a candidate: URI, title, folder and date.
fn describe(hit: &Hit) -> String {
    let mut text = format!("{} (`{}`", hit.uri, hit.title.as_deref().unwrap_or("no title"));
    if let Some(folder) = &hit.folder {
        text.extend([", folder ", folder]);
    }
    if let Some(date) = hit.last_modified {
        text.push_str(", ");
        text.extend(date.to_string().chars().take(10));
    }
    text.push(')');
    text
}
