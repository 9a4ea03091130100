//! Interface between the protocol and the product.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, value::RawValue};
use tokio::sync::watch;

use crate::{
    Completion, CompletionRequest, ContentBlock, Failure, GetPromptResult, Prompt, PromptArguments,
    RequestContext, Resource, ResourceContents, ResourceTemplate, Scope, Skill, ToolCatalog,
    Toolset,
};
use vademecum_core::auth::Principal;

/// Product features behind the protocol; independent of transport and protocol version.
pub trait ServerHandler: Send + Sync + 'static {
    /// Returns the tool catalog. It may differ from call to call if
    /// [`can_change_tools`](Self::can_change_tools) returns true.
    fn tools(&self) -> Arc<ToolCatalog>;

    /// Returns `true` if the catalog can change while the server runs; each change is announced by
    /// [`Service::announce_tool_change`](crate::Service::announce_tool_change).
    fn can_change_tools(&self) -> bool {
        false
    }

    /// Returns `true` if the tool set is usable for this principal.
    fn has_toolset(&self, _toolset: Toolset, _principal: &Principal) -> bool {
        true
    }

    /// Adapts an entry of `tools/list` to this principal.
    fn adapt_tool(&self, _tool: &mut Value, _principal: &Principal) {}

    /// Calls a tool by its canonical name.
    fn call_tool<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<CallToolResult, Failure>>;

    /// Returns the resources for `resources/list`, in a stable order.
    fn list_resources(&self, call: &RequestContext) -> Vec<Resource>;

    /// Returns the templates for `resources/templates/list`.
    fn resource_templates(&self, principal: &Principal) -> Vec<ResourceTemplate>;

    /// Reads a resource. Fails if the principal can read none with this URI.
    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<ResourceContents, Failure>>;

    /// Returns `true` if the extension Skills is offered.
    fn offers_skills(&self) -> bool {
        false
    }

    /// Returns the skills of this principal in a stable order. Their files are resources.
    fn list_skills<'a>(
        &'a self,
        _call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Skill>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Returns a short text with what the library has about a prompt, if it has anything.
    fn recall<'a>(
        &'a self,
        _prompt: &'a str,
        _call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns all prompts in a stable order.
    fn list_prompts<'a>(
        &'a self,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>>;

    /// Returns a prompt with its arguments filled in.
    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<GetPromptResult, Failure>>;

    /// Returns completions of a partial argument; none for unknown prompts, templates or arguments.
    fn complete_argument<'a>(
        &'a self,
        unfinished: &'a CompletionRequest,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>>;

    /// Returns a receiver that changes whenever data that this principal can read may have changed.
    fn subscribe_changes(&self, principal: &Principal) -> watch::Receiver<u64>;

    /// Drops the state of a conversation.
    fn forget_scope(&self, principal: &Principal, scope: &Scope);
}

/// Output of a tool, or a tool error. Errors of the protocol are a [`Failure`] instead.
#[derive(Clone, Debug, Default)]
pub struct CallToolResult {
    /// Structured result as the text of a JSON object.
    pub structured: Option<String>,
    /// Result as text; without one, the JSON is the text.
    pub text: Option<String>,
    /// Content blocks, which replace the text if there are any.
    pub blocks: Vec<ContentBlock>,
    /// Copies the members of the JSON object into the result itself.
    pub is_flattened: bool,
    /// The tool failed; the text tells the model why.
    pub is_error: bool,
    /// Further `_meta` fields of the result.
    pub meta: Option<Map<String, Value>>,
}

impl CallToolResult {
    /// Creates a result from the text of a JSON object.
    pub fn from_json(structured: String, meta: Option<Map<String, Value>>) -> Self {
        Self { structured: Some(structured), meta, ..Self::default() }
    }

    /// Creates a tool error with an explanation for the model.
    pub fn tool_error(text: String) -> Self {
        Self { text: Some(text), is_error: true, ..Self::default() }
    }
}
