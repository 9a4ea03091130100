//! `knowledge.restore`: brings an earlier version of an item back.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_core::auth::Right;
use vademecum_mcp::{RequestContext, ToolEffect};
use vademecum_model::{Change, Uri};

use super::{
    super::{
        Tool, ToolResult, ToolServices,
        input::{PositiveNumber, split_uri},
    },
    change::{WrittenItem, apply_change},
};

/// Brings an earlier version of an item back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRestore {
    /// The item; it may be deleted.
    uri: Uri,
    /// A version that knowledge.history lists.
    version: PositiveNumber,
    /// Only if it is at this version now.
    present_version: Option<PositiveNumber>,
}

impl Tool for KnowledgeRestore {
    const NAME: &'static str = "knowledge.restore";
    const TITLE: &'static str = "Restore a version";
    const DESCRIPTION: &'static str = "Bring an earlier version of an item back, as a new version.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::Replaces;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let source = self.uri.source;
        let (id, _) = split_uri(self.uri);
        // A number above the range of versions matches no version.
        let number = |version: PositiveNumber| i64::try_from(version.0).unwrap_or(i64::MAX);
        let (version, present) = (number(self.version), self.present_version.map(number));
        let change = Change::Restore { id, version, present };
        apply_change(services, call, Self::NAME, source, change).await
    }
}
