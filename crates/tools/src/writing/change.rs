//! Sends changes from the writing tools to the source that owns the item.

use schemars::JsonSchema;
use serde::Serialize;
use tracing::Instrument as _;
use vademecum_actors::{CallError, error_chain, provenance_of_session};
use vademecum_mcp::RequestContext;
use vademecum_model::{Change, ChangeAuthor, ChangedItem, Draft, DraftBody, Edit, SourceName, Uri};
use vademecum_services::two_way::NoteFileStatus;
use vademecum_source::SourceError;

use super::super::{ToolCaller, ToolResult, ToolServices};

/// Item after a change by a tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WrittenItem {
    /// The item.
    #[serde(flatten)]
    pub item: ChangedItem,
    /// File to which the note was written, relative to its two-way folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why the change is not in the file yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_problem: Option<String>,
    /// File that has this change instead: the same lines were changed in `file` meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_file: Option<String>,
}

impl From<ChangedItem> for WrittenItem {
    fn from(item: ChangedItem) -> Self {
        Self { item, file: None, file_problem: None, conflict_file: None }
    }
}

/// Applies a change of a tool to the caller's library and updates its vectors. An error says whether
/// the change may be stored.
pub(super) async fn apply_change(
    services: &ToolServices,
    call: &RequestContext,
    tool: &str,
    source: SourceName,
    change: Change,
) -> ToolResult<WrittenItem> {
    let written = write_change(services, call, tool, source, change).await;
    written.map_err(CallError::of_change)
}

async fn write_change(
    services: &ToolServices,
    call: &RequestContext,
    tool: &str,
    source: SourceName,
    change: Change,
) -> ToolResult<WrittenItem> {
    let library = services.registry.library(&call.principal);
    let source = library.source(source).ok_or(CallError::Unavailable)?;
    let grows = match &change {
        Change::Add(_)
        | Change::Edit { edit: Edit::Append(_) | Edit::Replace(_) | Edit::Rewrite(_), .. }
        | Change::Restore { .. } => true,
        Change::Tag { .. } | Change::Edit { edit: Edit::Delete, .. } => false,
    };
    let turn = if grows { services.registry.begin_item(&call.principal).await? } else { None };
    let (author, deadline) = (author(services, call, tool).await?, services.deadline(call));
    let change = match source.name() {
        SourceName::Notes => {
            let user = call.principal.user();
            let whole = services.registry.whole_library(user);
            services.folders.prepare_change(user, &whole, change).await?
        }
        _ => change,
    };
    let (writer, indexed) = (source.clone(), library.clone());
    // A task of its own: a call that is dropped while its change is written still updates the vectors.
    let work = async move {
        let written = writer.apply_change(change, author, deadline).await;
        drop(turn);
        indexed.start_indexing();
        written
    };
    let written = tokio::spawn(work.in_current_span()).await;
    let written = written.map_err(|_| CallError::Unavailable)??;
    call.items.record_change(&written.uri);
    let Some(file) = write_file(services, call, &written.uri).await else {
        return Ok(WrittenItem::from(written).into());
    };
    // The file may bring further changes: properties that were written, and edits of a person.
    let history = source.item_history(&written.id, (1, 0), services.deadline(call)).await;
    // The change is made, whether or not its history can be read now.
    let newest = history.ok().and_then(|history| history.changes.into_iter().next());
    let version = newest.map_or(written.version, |change| change.version);
    let item = ChangedItem { version, ..written };
    let NoteFileStatus { path, problem: file_problem, conflict: conflict_file } = file;
    Ok(WrittenItem { item, file: Some(path), file_problem, conflict_file }.into())
}

/// Writes a changed note to its file, if it has one in a two-way folder. Returns the file.
async fn write_file(
    services: &ToolServices,
    call: &RequestContext,
    item: &Uri,
) -> Option<NoteFileStatus> {
    let user = call.principal.user();
    let library = services.registry.whole_library(user);
    services.folders.write_item(user, &library, item).await.unwrap_or_else(|error| {
        let problem = Some(error_chain(&error));
        Some(NoteFileStatus { path: String::new(), problem, conflict: None })
    })
}

/// Returns who makes a change, and what the conversation of an agent was shown before.
async fn author(
    services: &ToolServices,
    call: &RequestContext,
    tool: &str,
) -> Result<ChangeAuthor, CallError> {
    let user = call.principal.user().to_string();
    if services.caller == ToolCaller::Person {
        let tool = ChangeAuthor::PAGE_TOOL.to_owned();
        return Ok(ChangeAuthor { user, tool, ..ChangeAuthor::default() });
    }
    let scope = call.scope.as_ref();
    let session = scope.map(|scope| services.open_session(&call.principal, Some(scope)));
    let provenance = provenance_of_session(session.transpose()?, &call.client).await?;
    Ok(ChangeAuthor {
        user,
        client: call.client.to_string(),
        key: call.principal.key().map(ToString::to_string).unwrap_or_default(),
        tool: tool.to_owned(),
        provenance: Some(Box::new(provenance)),
    })
}

/// Adds an item written by the caller. `digest` identifies identical items; an empty one identifies
/// none.
pub(super) async fn add_item(
    services: &ToolServices,
    call: &RequestContext,
    tool: &str,
    body: DraftBody,
    digest: String,
) -> ToolResult<WrittenItem> {
    let source = body.source();
    let plain = |body| Draft { origin: String::new(), digest, id: None, body };
    let draft = match body {
        DraftBody::Note(note) => {
            let user = call.principal.user();
            let library = services.registry.library(&call.principal);
            let placed = services.folders.place_new_note(user, &library, note).await;
            placed.map_err(|error| CallError::from(SourceError::Store(error)).of_change())?
        }
        body => plain(body),
    };
    apply_change(services, call, tool, source, Change::Add(Box::new(draft))).await
}
