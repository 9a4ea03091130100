//! Access to documents of collections for tools and resources, by URI or by a bare identifier.

use vademecum_actors as actors;
use vademecum_actors::{
    CallError,
    collections::{CollectionError, CollectionSource, VisibleCollection},
};
use vademecum_collections::DocumentPointer;
use vademecum_mcp::{Completion, MAX_COMPLETIONS, RequestContext};
use vademecum_model::{Deadline, ItemId, Retrieval, Suggestions, Uri};
use vademecum_search::{GetRequest, Item};
use vademecum_source::{Source, SourceError};

use super::{ToolServices, segments::visible_collections};

/// Reads a document or a chunk. A bare identifier is looked up in all visible collections; the
/// first match wins.
pub(super) async fn read_document(
    services: &ToolServices,
    call: &RequestContext,
    read: actors::ReadRequest,
) -> Result<Item, CallError> {
    let opened = visible_collections(services, call).await?;
    let deadline = services.deadline(call);
    let actors::ReadRequest { id, part, options, page, preferences, .. } = read;
    let retrieval = Retrieval::resolve(options, &preferences);
    let get = GetRequest { id, part, retrieval, page, recent_queries: Vec::new() };
    let Ok(uri) = get.id.to_string().parse::<Uri>() else {
        return run_blocking(services, call, move || read_from_first(&opened, &get, &deadline))
            .await;
    };
    let pointer =
        DocumentPointer::try_from(&uri).map_err(|error| CallError::NotFound(error.to_string()))?;
    let one = find_collection(&opened, &pointer.collection)?;
    let part = pointer.index.map(|index| index.to_string());
    let get = GetRequest { id: ItemId::Text(pointer.doc_id), part, ..get };
    run_blocking(services, call, move || read_from_collection(&one, &get, deadline)).await
}

/// Completes the name of a collection by its prefix.
pub(super) async fn complete_collections(
    services: &ToolServices,
    call: &RequestContext,
    typed: &str,
) -> Result<Completion, CallError> {
    let opened = visible_collections(services, call).await?;
    let typed = typed.to_lowercase();
    let names = opened.iter().map(|one| one.record.name.clone());
    let mut values: Vec<String> =
        names.filter(|name| name.to_lowercase().starts_with(&typed)).collect();
    values.sort();
    let total = Some(values.len());
    values.truncate(MAX_COMPLETIONS);
    Ok(Completion { values, total })
}

/// Completes the identifier of a document by its prefix, or by words of its title. Returns no
/// completions while the collection is unknown.
pub(super) async fn complete_documents(
    services: &ToolServices,
    call: &RequestContext,
    collection: Option<&str>,
    typed: &str,
) -> Result<Completion, CallError> {
    let opened = visible_collections(services, call).await?;
    let Some(Ok(one)) = collection.map(|name| find_collection(&opened, name)) else {
        return Ok(Completion::default());
    };
    let (typed, deadline) = (typed.to_owned(), services.deadline(call));
    let suggested = run_blocking(services, call, move || {
        let source = CollectionSource::new(one.clone());
        one.collection
            .read(deadline, |reader| source.suggest_items(reader, &typed, MAX_COMPLETIONS))
    });
    let Suggestions { values, total } = suggested.await?;
    Ok(Completion { values, total: Some(total) })
}

/// Returns the collection that a URI names, and the mean vector of the document or chunk, if it has
/// one. Checks only that the collection is visible; the caller must have read the document before.
pub(super) async fn document_vector(
    services: &ToolServices,
    call: &RequestContext,
    uri: &Uri,
) -> Result<(VisibleCollection, Option<Vec<f32>>), CallError> {
    let pointer =
        DocumentPointer::try_from(uri).map_err(|error| CallError::NotFound(error.to_string()))?;
    let one = find_collection(&visible_collections(services, call).await?, &pointer.collection)?;
    let deadline = services.deadline(call);
    let (collection, DocumentPointer { doc_id, index, .. }) = (one.collection.clone(), pointer);
    let mean =
        move || collection.read(deadline, |reader| collection.mean_vector(reader, &doc_id, index));
    Ok((one, run_blocking(services, call, mean).await?))
}

/// Finds a visible collection by name, ignoring ASCII case.
fn find_collection(
    opened: &[VisibleCollection],
    name: &str,
) -> Result<VisibleCollection, CallError> {
    let found = opened.iter().find(|one| one.record.name.eq_ignore_ascii_case(name)).cloned();
    let unknown = || CollectionError::Unknown(name.to_owned());
    found.ok_or_else(|| CallError::NotFound(unknown().to_string()))
}

/// Reads from the first collection that has the document.
fn read_from_first(
    opened: &[VisibleCollection],
    get: &GetRequest,
    deadline: &Deadline,
) -> Result<Item, SourceError> {
    for one in opened {
        match read_from_collection(one, get, deadline.clone()) {
            Err(SourceError::NotFound { .. }) => {}
            answer => return answer,
        }
    }
    Err(SourceError::not_found("document", &get.id))
}

fn read_from_collection(
    one: &VisibleCollection,
    get: &GetRequest,
    deadline: Deadline,
) -> Result<Item, SourceError> {
    let source = CollectionSource::new(one.clone());
    one.collection.read(deadline, |reader| source.load_item(reader, get))
}

/// Runs `work` on the blocking pool.
async fn run_blocking<T: Send + 'static>(
    services: &ToolServices,
    call: &RequestContext,
    work: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
) -> Result<T, CallError> {
    services.run_blocking(call, work).await?.map_err(CallError::from)
}
