//! MCP resources: every item by its URI, the media types, library statistics and the system
//! information of databases.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use serde_json::json;
use vademecum_actors::{CallError, Library};
use vademecum_mcp::{RequestContext, Resource, ResourceContents, ResourceTemplate};
use vademecum_model::{
    Preferences, Range, RetrievalMode, RetrievalOptions, SourceName, SourceStats, Timestamp, Uri,
};

use super::{ToolServices, results_app, skills::SKILL_SCHEME, sql::system_info};
use crate::session_calls::read_of_uri;

/// URI of the library statistics.
const STATS_URI: &str = "knowledge://stats";
/// URI of the list of media types.
const MEDIA_TYPES_URI: &str = "media://types";

/// Media types that a user interface may offer before the library has any media.
const SUGGESTED_MEDIA_TYPES: [&str; 12] = [
    "video", "audio", "podcast", "pdf", "epub", "docx", "pptx", "html", "markdown", "txt", "image",
    "article",
];

/// Returns the resources for `resources/list`.
pub(crate) fn list_resources(services: &ToolServices, call: &RequestContext) -> Vec<Resource> {
    let mut listed = library_resources();
    let may_write = services.may_write(call);
    let profiles = services.databases.profiles();
    listed.extend(system_info::list_resources(profiles, &call.principal, may_write));
    if call.capabilities.apps {
        listed.push(results_app::resource());
    }
    listed
}

fn library_resources() -> Vec<Resource> {
    vec![
        Resource {
            uri: MEDIA_TYPES_URI.into(),
            name: "media-types".into(),
            title: "Media types".into(),
            description: "Media types in the library with the number of items of each.".into(),
            mime_type: "application/json".into(),
        },
        Resource {
            uri: STATS_URI.into(),
            name: "stats".into(),
            title: "Library statistics".into(),
            description: "For each source the number of items and passages (chunks, messages) \
                          and the time of the last change; for each database its size in bytes."
                .into(),
            mime_type: "application/json".into(),
        },
    ]
}

/// Returns the URI template of the items of a source.
pub(crate) fn item_uri_template(source: SourceName) -> String {
    format!("{source}://{{id}}")
}

/// URI template of the documents of all collections.
pub(crate) const DOCUMENT_URI_TEMPLATE: &str = "collections://{collection}/{document}";

/// Returns the URI templates of all sources, and of documents if there are collections.
pub(crate) fn resource_templates(with_collections: bool) -> Vec<ResourceTemplate> {
    let document = with_collections.then(|| ResourceTemplate {
        uri_template: DOCUMENT_URI_TEMPLATE.to_owned(),
        name: SourceName::Collections.to_string(),
        title: "A document of a collection".to_owned(),
        description: "The full content of a document, by its collection and its id.".to_owned(),
        mime_type: Some(item_mime_type(SourceName::Collections).into()),
    });
    SourceName::ALL
        .into_iter()
        .map(|source| ResourceTemplate {
            uri_template: item_uri_template(source),
            name: source.to_string(),
            title: format!("An item of {source}"),
            description: format!("The full content of an item of `{source}`, by its id."),
            mime_type: Some(item_mime_type(source).into()),
        })
        .chain(document)
        .collect()
}

/// Returns the MIME type of a full item: text, or an object with fields or messages.
fn item_mime_type(source: SourceName) -> &'static str {
    match source {
        SourceName::Notes | SourceName::Media | SourceName::Collections => "text/plain",
        SourceName::Chats | SourceName::Characters | SourceName::Prompts => "application/json",
    }
}

#[derive(Serialize)]
struct LibraryStats {
    sources: Vec<SourceStatsEntry>,
    databases: Vec<DatabaseStats>,
}

#[derive(Serialize)]
struct SourceStatsEntry {
    source: SourceName,
    #[serde(flatten)]
    held: CountsOrError,
}

/// Counts of a source, or the reason why they are unknown.
#[derive(Serialize)]
#[serde(untagged)]
enum CountsOrError {
    Counted { items: usize, passages: usize, newest: Option<Timestamp> },
    Unknown { error: String },
}

#[derive(Serialize)]
struct DatabaseStats {
    database: String,
    bytes: u64,
}

#[derive(Serialize)]
struct MediaTypeList {
    types: Vec<MediaTypeCount>,
    suggested: [&'static str; 12],
}

#[derive(Serialize)]
struct MediaTypeCount {
    #[serde(rename = "type")]
    name: String,
    count: usize,
}

/// Reads a resource: an item, a file of a skill, an app, or information about the system.
pub(crate) async fn read_resource(
    services: &ToolServices,
    uri: &str,
    call: &RequestContext,
) -> Result<ResourceContents, CallError> {
    match uri {
        MEDIA_TYPES_URI => return read_media_types(services, call).await,
        STATS_URI => return read_stats(services, call).await,
        results_app::URI if call.capabilities.apps => return Ok(results_app::contents()),
        _ => {}
    }
    if uri.starts_with(SKILL_SCHEME) {
        return read_skill_file(services, uri, call).await;
    }
    if let Some(system_info_uri) = system_info::SystemInfoUri::parse(uri) {
        return system_info_uri.read_system_info(services, uri, call).await;
    }
    let parsed: Uri = uri.parse().map_err(|error| CallError::NotFound(format!("{error}")))?;
    let options =
        RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
    let read = read_of_uri(parsed, options, Preferences::default());
    let item = services.read_item(call, None, read).await.map_err(CallError::of_uri)?;
    let read_on = item.range.and_then(|range| read_on_sentence(uri, range));
    let hit = &item.meta;
    let has_mark = !hit.agents.is_empty() || hit.origin.is_foreign();
    let meta = has_mark.then(|| {
        let mark = ("vademecum/origin".to_owned(), hit.origin_label().into());
        serde_json::Map::from_iter([mark])
    });
    let (mime_type, text) = match item.content {
        serde_json::Value::String(text) => ("text/plain", text),
        object => ("application/json", object.to_string()),
    };
    Ok(ResourceContents { read_on, meta, ..ResourceContents::text(uri, mime_type, text) })
}

async fn read_skill_file(
    services: &ToolServices,
    uri: &str,
    call: &RequestContext,
) -> Result<ResourceContents, CallError> {
    let (skills, principal) = (Arc::clone(&services.skills), call.principal.clone());
    let file_uri = uri.to_owned();
    let read = tokio::task::spawn_blocking(move || skills.read(&principal, &file_uri)).await;
    read.map_err(|_| CallError::Unavailable)?.ok_or_else(|| {
        CallError::NotFound(format!("no file of a skill is at {uri}; skills/list lists them"))
    })
}

/// Returns what a full read left out and the call that reads on; `None` if it read to the end.
pub(super) fn read_on_sentence(uri: &str, range: Range) -> Option<String> {
    let Range { start, end, total, next_offset } = range;
    let retrieval = json!({ "mode": "full", "offset": next_offset? });
    let arguments = json!({ "id": uri, "retrieval": retrieval });
    Some(format!("[{start} to {end} of {total}; read on with knowledge.get {arguments}]"))
}

async fn read_stats(
    services: &ToolServices,
    call: &RequestContext,
) -> Result<ResourceContents, CallError> {
    let library = services.registry.library(&call.principal);
    let mut sources = Vec::new();
    for source in SourceName::ALL.into_iter().filter_map(|name| library.source(name)) {
        let held = match source.stats(services.deadline(call)).await {
            Ok(SourceStats { items, passages, newest }) => {
                CountsOrError::Counted { items, passages, newest }
            }
            Err(error) => CountsOrError::Unknown { error: CallError::from(error).to_string() },
        };
        sources.push(SourceStatsEntry { source: source.name(), held });
    }
    let databases = tokio::task::spawn_blocking(move || database_stats(&library));
    let databases = databases.await.map_err(|_| CallError::Unavailable)?;
    let text = serde_json::to_string(&LibraryStats { sources, databases })
        .map_err(|_| CallError::Unavailable)?;
    Ok(ResourceContents::text(STATS_URI, "application/json", text))
}

fn database_stats(library: &Library) -> Vec<DatabaseStats> {
    // The sizes would include hidden items.
    if library.is_restricted() {
        return Vec::new();
    }
    let name = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let stores = library.stores().iter();
    stores
        .filter_map(|store| {
            Some(DatabaseStats { database: name(store.path())?, bytes: store.size_bytes() })
        })
        .collect()
}

async fn read_media_types(
    services: &ToolServices,
    call: &RequestContext,
) -> Result<ResourceContents, CallError> {
    let library = services.registry.library(&call.principal);
    let media = library.source(SourceName::Media).ok_or(CallError::Unavailable)?;
    let kinds = media.item_kinds(services.deadline(call)).await?;
    let types = kinds.into_iter().map(|(name, count)| MediaTypeCount { name, count }).collect();
    let text = serde_json::to_string(&MediaTypeList { types, suggested: SUGGESTED_MEDIA_TYPES })
        .map_err(|_| CallError::Unavailable)?;
    Ok(ResourceContents::text(MEDIA_TYPES_URI, "application/json", text))
}
