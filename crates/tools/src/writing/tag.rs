//! `knowledge.tag`: adds and removes tags of an item.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{RequestContext, ToolEffect};
use vademecum_model::{Change, TagChange, Uri};

use super::{
    super::{Tool, ToolResult, ToolServices, input::split_uri},
    change::{WrittenItem, apply_change},
    input::Tags,
};

/// Adds and removes tags of an item of any source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeTag {
    /// A hit's `uri`.
    uri: Uri,
    /// Tags to add.
    add: Option<Tags>,
    /// Tags to remove.
    remove: Option<Tags>,
}

impl Tool for KnowledgeTag {
    const NAME: &'static str = "knowledge.tag";
    const TITLE: &'static str = "Tag an item";
    const DESCRIPTION: &'static str = "Put tags on a note, document, character or prompt, or take \
        them off.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Replaces;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let (add, remove) = (self.add.unwrap_or_default().0, self.remove.unwrap_or_default().0);
        if add.is_empty() && remove.is_empty() {
            let problem = "nothing would change: pass tags to add or to remove".to_owned();
            return Err(CallError::Invalid(problem));
        }
        let source = self.uri.source;
        let (id, _) = split_uri(self.uri);
        let tagging = TagChange { add, remove, text: None };
        apply_change(services, call, Self::NAME, source, Change::Tag { id, tagging }).await
    }
}
