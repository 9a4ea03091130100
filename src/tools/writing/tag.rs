//! `knowledge.tag`.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{Change, Tagging, Uri, Written};

use super::{
    super::{Contract, Replied, Toolbox, input::point},
    change::change,
    input::Tags,
};
use crate::actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{Call, Effect};

/// Changes the tags of an item, whatever source it is in.
#[derive(Debug)]
pub struct KnowledgeTag;

/// Which item, and which tags.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeTagInput {
    /// A hit's `uri`.
    uri: Uri,
    /// Tags to put on it.
    add: Option<Tags>,
    /// Tags to take off it.
    remove: Option<Tags>,
}

impl Contract for KnowledgeTag {
    const NAME: &'static str = "knowledge.tag";
    const TITLE: &'static str = "Tag an item";
    const DESCRIPTION: &'static str = "Put tags on a note, document, character or prompt, or take \
        them off.";
    const RIGHT: Right = Right::Write;
    const EFFECT: Effect = Effect::Replaces;
    type Input = KnowledgeTagInput;
    type Output = Written;

    async fn call(
        toolbox: &Toolbox,
        input: KnowledgeTagInput,
        call: &Call,
    ) -> Result<Replied<Written>, CallError> {
        let (add, remove) = (input.add.unwrap_or_default().0, input.remove.unwrap_or_default().0);
        if add.is_empty() && remove.is_empty() {
            let problem = "nothing would change: pass tags to add or to remove".to_owned();
            return Err(CallError::Invalid(problem));
        }
        let source = input.uri.source;
        let (id, _) = point(input.uri);
        let tagging = Tagging { add, remove };
        change(toolbox, call, source, Change::Tag { id, tagging }).await
    }
}
