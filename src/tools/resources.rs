//! What can be read by its URI: every item, and the kinds of media.

use serde::Serialize;
use vademecum_kit::model::{Deadline, Mode, Preferences, RetrievalOptions, SourceName, Uri};

use super::{Toolbox, input::point};
use crate::{
    actors::{self, CallError},
    mcp::{Call, Contents, Resource, Template},
};

/// Where the kinds of media are listed.
const TYPES: &str = "media://types";

/// Kinds that user interfaces may offer before there is anything of them.
const SUGGESTED: [&str; 12] = [
    "video", "audio", "podcast", "pdf", "epub", "docx", "pptx", "html", "markdown", "txt", "image",
    "article",
];

/// The resources that are listed.
pub(crate) fn listed() -> Vec<Resource> {
    vec![Resource {
        uri: TYPES.into(),
        name: "media-types".into(),
        title: "Media types".into(),
        description: "The types of media in the library, with how many there are of each.".into(),
        mime_type: "application/json".into(),
    }]
}

/// Every item has a URI.
pub(crate) fn templates() -> Vec<Template> {
    SourceName::ALL
        .into_iter()
        .map(|source| Template {
            uri_template: format!("{source}://{{id}}"),
            name: source.to_string(),
            title: format!("An item of {source}"),
            description: format!("The full content of an item of `{source}`, by its id."),
        })
        .collect()
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
    if uri == TYPES {
        return kinds(toolbox, call).await;
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

async fn kinds(toolbox: &Toolbox, call: &Call) -> Result<Contents, CallError> {
    let library = toolbox.roster().library(&call.principal);
    let media = library.source(SourceName::Media).ok_or(CallError::Unavailable)?;
    let kinds = media.kinds(Deadline::after(toolbox.patience()).unless(&call.cancel)).await?;
    let types = kinds.into_iter().map(|(name, count)| Kind { name, count }).collect();
    let text = serde_json::to_string(&Kinds { types, suggested: SUGGESTED })
        .map_err(|_| CallError::Unavailable)?;
    Ok(Contents::text(TYPES, "application/json", text))
}
