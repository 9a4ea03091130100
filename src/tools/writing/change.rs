//! Sends changes from the writing tools to the source that owns the item.

use vademecum_kit::model::{Change, ChangeAuthor, ChangedItem, Draft, DraftBody, Edit, SourceName};

use super::super::{ToolRegistry, ToolResult};
use crate::actors::CallError;
use vademecum_mcp::RequestContext;

/// Applies a change of a tool to the caller's library and updates its vectors.
pub(super) async fn apply_change(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    tool: &str,
    source: SourceName,
    change: Change,
) -> ToolResult<ChangedItem> {
    let library = toolbox.registry().library(&call.principal);
    let source = library.source(source).ok_or(CallError::Unavailable)?;
    let grows = match &change {
        Change::Add(_)
        | Change::Edit { edit: Edit::Append(_) | Edit::Replace(_), .. }
        | Change::Restore { .. } => true,
        Change::Tag { .. } | Change::Edit { edit: Edit::Delete, .. } => false,
    };
    if grows {
        toolbox.registry().check_quota(&call.principal).await?;
    }
    let written = source.apply_change(change, author(call, tool), toolbox.deadline(call)).await?;
    call.items.record([&written.uri]);
    library.start_indexing();
    Ok(written.into())
}

/// Returns who makes a change, for the journal.
fn author(call: &RequestContext, tool: &str) -> ChangeAuthor {
    ChangeAuthor {
        user: call.principal.user().to_string(),
        client: call.client.to_string(),
        key: call.principal.key().map(ToString::to_string).unwrap_or_default(),
        tool: tool.to_owned(),
    }
}

/// Adds an item written by the caller. `digest` identifies identical items; an empty one identifies
/// none.
pub(super) async fn add_item(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    tool: &str,
    body: DraftBody,
    digest: String,
) -> ToolResult<ChangedItem> {
    let source = body.source();
    let draft = Draft { origin: String::new(), digest, id: None, body };
    apply_change(toolbox, call, tool, source, Change::Add(Box::new(draft))).await
}
