//! Documents of collections, as the tools and the resources read them: by a
//! URI, or by an identifier alone.

use vademecum_collections::Pointer;
use vademecum_kit::{
    model::{Deadline, Get, Item, ItemId, Retrieval, Suggestions, Uri},
    source::{Source, SourceError},
};

use super::{Toolbox, segments::visible};
use crate::{
    actors::{self, CallError},
    collections::{CollectionError, CollectionSource, Opened},
};
use vademecum_mcp::{Call, Completion, MOST_COMPLETIONS};

/// Reads a document or a chunk. One that is named by an identifier alone is
/// that of the first collection that has such.
pub(super) async fn read(
    toolbox: &Toolbox,
    call: &Call,
    read: actors::Read,
) -> Result<Item, CallError> {
    let opened = visible(toolbox, call).await?;
    let deadline = toolbox.deadline(call);
    let actors::Read { source: _, id, part, options, page, preferences } = read;
    let retrieval = Retrieval::resolve(options, &preferences);
    let get = Get { id, part, retrieval, page, about: Vec::new() };
    let Ok(uri) = get.id.to_string().parse::<Uri>() else {
        return beside(toolbox, call, move || first(&opened, &get, &deadline)).await;
    };
    let pointer =
        Pointer::try_from(&uri).map_err(|error| CallError::NotFound(error.to_string()))?;
    let one = find(&opened, &pointer.collection)?;
    let part = pointer.index.map(|index| index.to_string());
    let get = Get { id: ItemId::Text(pointer.doc_id), part, ..get };
    beside(toolbox, call, move || get_from(&one, &get, deadline)).await
}

/// The names of collections that begin so.
pub(super) async fn collections(
    toolbox: &Toolbox,
    call: &Call,
    typed: &str,
) -> Result<Completion, CallError> {
    let opened = visible(toolbox, call).await?;
    let typed = typed.to_lowercase();
    let names = opened.iter().map(|one| one.record.name.clone());
    let mut values: Vec<String> =
        names.filter(|name| name.to_lowercase().starts_with(&typed)).collect();
    values.sort();
    let total = Some(values.len());
    values.truncate(MOST_COMPLETIONS);
    Ok(Completion { values, total })
}

/// The documents of a collection whose identifier begins so, or words of whose
/// title do. Until the collection is known, nothing can be said.
pub(super) async fn suggest(
    toolbox: &Toolbox,
    call: &Call,
    collection: Option<&str>,
    typed: &str,
) -> Result<Completion, CallError> {
    let opened = visible(toolbox, call).await?;
    let Some(Ok(one)) = collection.map(|name| find(&opened, name)) else {
        return Ok(Completion::default());
    };
    let (typed, deadline) = (typed.to_owned(), toolbox.deadline(call));
    let suggested = beside(toolbox, call, move || {
        let source = CollectionSource::new(one.clone());
        one.collection.read(deadline, |reader| source.suggest(reader, &typed, MOST_COMPLETIONS))
    });
    let Suggestions { values, total } = suggested.await?;
    Ok(Completion { values, total: Some(total) })
}

/// The collection that a URI names, and the vector of what the URI points at, if
/// it has one. What may not be read is not asked for here.
pub(super) async fn vector(
    toolbox: &Toolbox,
    call: &Call,
    uri: &Uri,
) -> Result<(Opened, Option<Vec<f32>>), CallError> {
    let pointer = Pointer::try_from(uri).map_err(|error| CallError::NotFound(error.to_string()))?;
    let one = find(&visible(toolbox, call).await?, &pointer.collection)?;
    let deadline = toolbox.deadline(call);
    let (collection, Pointer { doc_id, index, .. }) = (one.collection.clone(), pointer);
    let mean = move || collection.read(deadline, |reader| collection.mean(reader, &doc_id, index));
    Ok((one, beside(toolbox, call, mean).await?))
}

/// The collection of that name, if the caller may see one.
fn find(opened: &[Opened], name: &str) -> Result<Opened, CallError> {
    let found = opened.iter().find(|one| one.record.name.eq_ignore_ascii_case(name)).cloned();
    let unknown = || CollectionError::Unknown(name.to_owned());
    found.ok_or_else(|| CallError::NotFound(unknown().to_string()))
}

/// Reads from the first collection that has such a thing.
fn first(opened: &[Opened], get: &Get, deadline: &Deadline) -> Result<Item, SourceError> {
    for one in opened {
        match get_from(one, get, deadline.clone()) {
            Err(SourceError::NotFound { .. }) => {}
            answer => return answer,
        }
    }
    Err(SourceError::not_found("document", &get.id))
}

fn get_from(one: &Opened, get: &Get, deadline: Deadline) -> Result<Item, SourceError> {
    let source = CollectionSource::new(one.clone());
    one.collection.read(deadline, |reader| source.get(reader, get))
}

/// Does `work` beside the event loop.
async fn beside<T: Send + 'static>(
    toolbox: &Toolbox,
    call: &Call,
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, CallError> {
    toolbox.beside(call, work).await?.map_err(CallError::from)
}
