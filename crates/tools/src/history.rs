//! `knowledge.history`: lists the changes of an item.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::RequestContext;
use vademecum_model::Uri;
use vademecum_vault::journal::ItemHistory;

use super::{
    Tool, ToolResult, ToolServices,
    input::{Limit, Offset, split_uri},
};

/// Lists the changes of an item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeHistory {
    /// The item; it may be deleted.
    uri: Uri,
    /// How many changes.
    #[schemars(extend("default" = 20))]
    limit: Option<Limit>,
    /// A page's `next_offset`.
    offset: Option<Offset>,
}

impl Tool for KnowledgeHistory {
    const NAME: &'static str = "knowledge.history";
    const TITLE: &'static str = "List changes of an item";
    const DESCRIPTION: &'static str = "List the versions of an item, newest first: when which client \
        changed what.";
    // Listed with the writing tools: the list of tools is short by default.
    const REQUIRED_RIGHT: Right = Right::Write;
    type Output = ItemHistory;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let library = services.registry.library(&call.principal);
        let source = library.source(self.uri.source).ok_or_else(|| {
            CallError::Invalid("uri: documents of collections have no history".to_owned())
        })?;
        let (id, _) = split_uri(self.uri);
        let page = (self.offset.unwrap_or_default().0, self.limit.map_or(20, |limit| limit.0));
        let history = source.item_history(&id, page, services.deadline(call)).await?;
        call.items.record([&history.uri]);
        Ok(history.into())
    }
}
