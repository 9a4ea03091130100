//! Sends changes from the writing tools to the source that owns the item.

use vademecum_kit::model::{Change, ChangedItem, Draft, DraftBody, Edit, SourceName};

use super::super::{ToolRegistry, ToolResult};
use crate::actors::CallError;
use vademecum_mcp::RequestContext;

/// Applies a change to the caller's library and updates its vectors.
pub(super) async fn apply_change(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    source: SourceName,
    change: Change,
) -> ToolResult<ChangedItem> {
    let library = toolbox.registry().library(&call.principal);
    let source = library.source(source).ok_or(CallError::Unavailable)?;
    let grows = match &change {
        Change::Add(_) | Change::Edit { edit: Edit::Append(_) | Edit::Replace(_), .. } => true,
        Change::Tag { .. } | Change::Edit { edit: Edit::Delete, .. } => false,
    };
    if grows {
        toolbox.registry().check_quota(&call.principal).await?;
    }
    let written = source.apply_change(change, toolbox.deadline(call)).await?;
    call.items.record([&written.uri]);
    library.start_indexing();
    Ok(written.into())
}

/// Adds an item written by the caller. `digest` identifies identical items; an empty one identifies
/// none.
pub(super) async fn add_item(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    body: DraftBody,
    digest: String,
) -> ToolResult<ChangedItem> {
    let source = body.source();
    let draft = Draft { origin: String::new(), digest, id: None, body };
    apply_change(toolbox, call, source, Change::Add(Box::new(draft))).await
}
