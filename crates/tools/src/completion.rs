//! Completes arguments of prompts and resource templates (`completion/complete`).

use serde_json::Value;
use vademecum_actors::{CallError, CompletionKind};
use vademecum_mcp::{
    Completion, CompletionReference, CompletionRequest, MAX_COMPLETIONS, RequestContext,
};
use vademecum_model::{SourceName, Suggestions};

use super::{ToolServices, documents, prompts, resources};

/// A kind of value that can be completed.
enum CompletableValue {
    /// Id of an item.
    Id(SourceName),
    /// Keyword of notes.
    Keyword,
    /// Type of media documents, such as `markdown`.
    MediaType,
    /// Name of a collection.
    Collection,
    /// Id of a document in a collection.
    Document,
}

/// Returns completions of an argument; none for unknown arguments.
pub(crate) async fn complete_argument(
    services: &ToolServices,
    unfinished: &CompletionRequest,
    call: &RequestContext,
) -> Result<Completion, CallError> {
    let Some(blank) = completable_value(unfinished) else { return Ok(Completion::default()) };
    let typed = unfinished.argument.value.trim();
    let (source, kind) = match blank {
        CompletableValue::Id(source) => (source, CompletionKind::Id),
        CompletableValue::Keyword => (SourceName::Notes, CompletionKind::Keyword),
        CompletableValue::MediaType => return complete_media_types(services, typed, call).await,
        CompletableValue::Collection => {
            return documents::complete_collections(services, call, typed).await;
        }
        CompletableValue::Document => {
            let collection = unfinished.known_arguments.get("collection").and_then(Value::as_str);
            return documents::complete_documents(services, call, collection, typed).await;
        }
    };
    let library = services.registry.library(&call.principal);
    let source = library.source(source).ok_or(CallError::Unavailable)?;
    let deadline = services.deadline(call);
    let suggested =
        source.suggest_completions(kind, typed.to_owned(), MAX_COMPLETIONS, deadline).await?;
    let Suggestions { values, total } = suggested;
    Ok(Completion { values, total: Some(total) })
}

fn completable_value(unfinished: &CompletionRequest) -> Option<CompletableValue> {
    match (&unfinished.reference, unfinished.argument.name.as_str()) {
        (CompletionReference::Prompt { name }, argument) => match (name.as_str(), argument) {
            (prompts::RESEARCH_PROMPT, "keyword") => Some(CompletableValue::Keyword),
            (prompts::RESEARCH_PROMPT, "media_type") => Some(CompletableValue::MediaType),
            (prompts::SUMMARIZE_PROMPT, "id") => Some(CompletableValue::Id(SourceName::Chats)),
            _ => None,
        },
        (CompletionReference::Resource { uri }, "id") => {
            let known = |source: &SourceName| resources::item_uri_template(*source) == *uri;
            SourceName::ALL.into_iter().find(known).map(CompletableValue::Id)
        }
        (CompletionReference::Resource { uri }, "collection") => {
            (uri == resources::DOCUMENT_URI_TEMPLATE).then_some(CompletableValue::Collection)
        }
        (CompletionReference::Resource { uri }, "document") => {
            (uri == resources::DOCUMENT_URI_TEMPLATE).then_some(CompletableValue::Document)
        }
        (CompletionReference::Resource { .. }, _) => None,
    }
}

/// Returns the media types with this prefix, most frequent first.
async fn complete_media_types(
    services: &ToolServices,
    typed: &str,
    call: &RequestContext,
) -> Result<Completion, CallError> {
    let library = services.registry.library(&call.principal);
    let media = library.source(SourceName::Media).ok_or(CallError::Unavailable)?;
    let mut kinds = media.item_kinds(services.deadline(call)).await?;
    kinds.retain(|(kind, _)| kind.to_lowercase().starts_with(&typed.to_lowercase()));
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total = Some(kinds.len());
    let values = kinds.into_iter().map(|(kind, _)| kind).take(MAX_COMPLETIONS).collect();
    Ok(Completion { values, total })
}
