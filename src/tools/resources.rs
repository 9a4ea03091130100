//! What can be read by its URI: every item, and the kinds of media.

use std::path::Path;

use serde::Serialize;
use vademecum_kit::model::{
    Holdings, Mode, Preferences, RetrievalOptions, SourceName, Timestamp, Uri,
};

use super::{Toolbox, input::point, sql::system_info};
use crate::actors::{self, CallError, Library};
use vademecum_core::auth::Principal;
use vademecum_mcp::{Call, Contents, Resource, Template};

/// How much there is in the library.
const STATS: &str = "knowledge://stats";
/// Where the kinds of media are listed.
const TYPES: &str = "media://types";

/// Kinds that user interfaces may offer before there is anything of them.
const SUGGESTED: [&str; 12] = [
    "video", "audio", "podcast", "pdf", "epub", "docx", "pptx", "html", "markdown", "txt", "image",
    "article",
];

/// The resources that are listed.
pub(crate) fn listed(toolbox: &Toolbox, principal: &Principal) -> Vec<Resource> {
    let mut listed = of_library();
    listed.extend(system_info::listed(toolbox.databases().profiles(), principal));
    listed
}

fn of_library() -> Vec<Resource> {
    vec![
        Resource {
            uri: TYPES.into(),
            name: "media-types".into(),
            title: "Media types".into(),
            description: "The types of media in the library, with how many there are of each."
                .into(),
            mime_type: "application/json".into(),
        },
        Resource {
            uri: STATS.into(),
            name: "stats".into(),
            title: "How much there is".into(),
            description: "For each source how many items and passages (chunks, messages) it has \
                          and when one last changed; for each database its bytes on the disk."
                .into(),
            mime_type: "application/json".into(),
        },
    ]
}

/// The URIs of the items of a source.
pub(crate) fn template(source: SourceName) -> String {
    format!("{source}://{{id}}")
}

/// The URIs of the documents of collections.
pub(crate) const DOCUMENT: &str = "collections://{collection}/{document}";

/// Every item has a URI; documents of collections have one where there are some.
pub(crate) fn templates(with_collections: bool) -> Vec<Template> {
    let document = with_collections.then(|| Template {
        uri_template: DOCUMENT.to_owned(),
        name: SourceName::Collections.to_string(),
        title: "A document of a collection".to_owned(),
        description: "The full content of a document, by its collection and its id.".to_owned(),
        mime_type: Some(mime_type(SourceName::Collections).into()),
    });
    SourceName::ALL
        .into_iter()
        .map(|source| Template {
            uri_template: template(source),
            name: source.to_string(),
            title: format!("An item of {source}"),
            description: format!("The full content of an item of `{source}`, by its id."),
            mime_type: Some(mime_type(source).into()),
        })
        .chain(document)
        .collect()
}

/// The form of a whole item: a text, or an object with its fields or messages.
fn mime_type(source: SourceName) -> &'static str {
    match source {
        SourceName::Notes | SourceName::Media | SourceName::Collections => "text/plain",
        SourceName::Chats | SourceName::Characters | SourceName::Prompts => "application/json",
    }
}

#[derive(Serialize)]
struct Stats {
    sources: Vec<SourceStats>,
    databases: Vec<DatabaseStats>,
}

#[derive(Serialize)]
struct SourceStats {
    source: SourceName,
    #[serde(flatten)]
    held: Held,
}

/// What a source holds, or why that is not known.
#[derive(Serialize)]
#[serde(untagged)]
enum Held {
    Counted { items: usize, passages: usize, newest: Option<Timestamp> },
    Unknown { error: String },
}

#[derive(Serialize)]
struct DatabaseStats {
    database: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Kinds {
    types: Vec<Kind>,
    suggested: [&'static str; 12],
}

#[derive(Serialize)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
    count: usize,
}

/// Reads a resource.
pub(crate) async fn read(toolbox: &Toolbox, uri: &str, call: &Call) -> Result<Contents, CallError> {
    match uri {
        TYPES => return kinds(toolbox, call).await,
        STATS => return stats(toolbox, call).await,
        _ => {}
    }
    if let Some(asked) = system_info::Asked::parse(uri) {
        return asked.read(toolbox, uri, call).await;
    }
    let parsed: Uri = uri.parse().map_err(|error| CallError::NotFound(format!("{error}")))?;
    let source = parsed.source;
    let (id, part) = point(parsed);
    let options = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
    let preferences = Preferences::default();
    let read = actors::Read { source, id, part, options, page: None, preferences };
    let item = toolbox.read_item(call, None, read).await?;
    let (mime_type, text) = match item.content {
        serde_json::Value::String(text) => ("text/plain", text),
        object => ("application/json", object.to_string()),
    };
    Ok(Contents::text(uri, mime_type, text))
}

async fn stats(toolbox: &Toolbox, call: &Call) -> Result<Contents, CallError> {
    let library = toolbox.roster().library(&call.principal);
    let mut sources = Vec::new();
    for source in SourceName::ALL.into_iter().filter_map(|name| library.source(name)) {
        let held = match source.holdings(toolbox.deadline(call)).await {
            Ok(Holdings { items, passages, newest }) => Held::Counted { items, passages, newest },
            Err(error) => Held::Unknown { error: CallError::from(error).to_string() },
        };
        sources.push(SourceStats { source: source.name(), held });
    }
    let databases = tokio::task::spawn_blocking(move || databases(&library));
    let databases = databases.await.map_err(|_| CallError::Unavailable)?;
    let text =
        serde_json::to_string(&Stats { sources, databases }).map_err(|_| CallError::Unavailable)?;
    Ok(Contents::text(STATS, "application/json", text))
}

fn databases(library: &Library) -> Vec<DatabaseStats> {
    let name = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let stores = library.stores().iter();
    stores
        .filter_map(|store| {
            Some(DatabaseStats { database: name(store.path())?, bytes: store.size_bytes() })
        })
        .collect()
}

async fn kinds(toolbox: &Toolbox, call: &Call) -> Result<Contents, CallError> {
    let library = toolbox.roster().library(&call.principal);
    let media = library.source(SourceName::Media).ok_or(CallError::Unavailable)?;
    let kinds = media.kinds(toolbox.deadline(call)).await?;
    let types = kinds.into_iter().map(|(name, count)| Kind { name, count }).collect();
    let text = serde_json::to_string(&Kinds { types, suggested: SUGGESTED })
        .map_err(|_| CallError::Unavailable)?;
    Ok(Contents::text(TYPES, "application/json", text))
}
