//! What an argument that is being typed may become.

use serde_json::Value;
use vademecum_kit::model::{SourceName, Suggestions};

use super::{Toolbox, documents, prompts, resources};
use crate::actors::{CallError, Wish};
use vademecum_mcp::{Call, Completion, MOST_COMPLETIONS, Reference, Unfinished};

/// What can be completed.
enum Blank {
    /// The id of an item.
    Id(SourceName),
    /// A keyword of notes.
    Keyword,
    /// A type of media.
    MediaType,
    /// The name of a collection.
    Collection,
    /// The id of a document of a collection.
    Document,
}

/// What an argument that is being typed may become; what is not known here has
/// no completions.
pub(crate) async fn complete(
    toolbox: &Toolbox,
    unfinished: &Unfinished,
    call: &Call,
) -> Result<Completion, CallError> {
    let Some(blank) = blank(unfinished) else { return Ok(Completion::default()) };
    let typed = unfinished.argument.value.trim();
    let (source, wish) = match blank {
        Blank::Id(source) => (source, Wish::Id),
        Blank::Keyword => (SourceName::Notes, Wish::Keyword),
        Blank::MediaType => return media_types(toolbox, typed, call).await,
        Blank::Collection => return documents::collections(toolbox, call, typed).await,
        Blank::Document => {
            let collection = unfinished.others.get("collection").and_then(Value::as_str);
            return documents::suggest(toolbox, call, collection, typed).await;
        }
    };
    let library = toolbox.roster().library(&call.principal);
    let source = library.source(source).ok_or(CallError::Unavailable)?;
    let deadline = toolbox.deadline(call);
    let suggested = source.suggest(wish, typed.to_owned(), MOST_COMPLETIONS, deadline).await?;
    let Suggestions { values, total } = suggested;
    Ok(Completion { values, total: Some(total) })
}

fn blank(unfinished: &Unfinished) -> Option<Blank> {
    match (&unfinished.reference, unfinished.argument.name.as_str()) {
        (Reference::Prompt { name }, argument) => match (name.as_str(), argument) {
            (prompts::RESEARCH, "keyword") => Some(Blank::Keyword),
            (prompts::RESEARCH, "media_type") => Some(Blank::MediaType),
            (prompts::SUMMARIZE, "id") => Some(Blank::Id(SourceName::Chats)),
            _ => None,
        },
        (Reference::Resource { uri }, "id") => {
            let known = |source: &SourceName| resources::template(*source) == *uri;
            SourceName::ALL.into_iter().find(known).map(Blank::Id)
        }
        (Reference::Resource { uri }, "collection") => {
            (uri == resources::DOCUMENT).then_some(Blank::Collection)
        }
        (Reference::Resource { uri }, "document") => {
            (uri == resources::DOCUMENT).then_some(Blank::Document)
        }
        (Reference::Resource { .. }, _) => None,
    }
}

/// The types of media that begin so, those of which there is most first.
async fn media_types(toolbox: &Toolbox, typed: &str, call: &Call) -> Result<Completion, CallError> {
    let library = toolbox.roster().library(&call.principal);
    let media = library.source(SourceName::Media).ok_or(CallError::Unavailable)?;
    let mut kinds = media.kinds(toolbox.deadline(call)).await?;
    kinds.retain(|(kind, _)| kind.to_lowercase().starts_with(&typed.to_lowercase()));
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total = Some(kinds.len());
    let values = kinds.into_iter().map(|(kind, _)| kind).take(MOST_COMPLETIONS).collect();
    Ok(Completion { values, total })
}
