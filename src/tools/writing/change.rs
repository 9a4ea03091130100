//! The way of a change from a tool to the source that it is for.

use vademecum_kit::model::{Body, Change, Draft, SourceName, Written};

use super::super::{Replied, Toolbox};
use crate::actors::CallError;
use vademecum_mcp::Call;

/// Changes something in the caller's library.
pub(super) async fn change(
    toolbox: &Toolbox,
    call: &Call,
    source: SourceName,
    change: Change,
) -> Result<Replied<Written>, CallError> {
    let library = toolbox.roster().library(&call.principal);
    let source = library.source(source).ok_or(CallError::Unavailable)?;
    let written = source.change(change, toolbox.deadline(call)).await?;
    library.follow_vectors();
    Ok(written.into())
}

/// Adds something that comes from nowhere but the caller; `digest` is its
/// fingerprint.
pub(super) async fn add(
    toolbox: &Toolbox,
    call: &Call,
    body: Body,
    digest: String,
) -> Result<Replied<Written>, CallError> {
    let source = body.source();
    let draft = Draft { origin: String::new(), digest, id: None, body };
    change(toolbox, call, source, Change::Add(Box::new(draft))).await
}
