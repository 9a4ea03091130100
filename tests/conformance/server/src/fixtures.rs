//! Server handler with the fixtures of the conformance suite.

use std::sync::Arc;

use futures_util::{FutureExt, future::LocalBoxFuture};
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;
use vademecum_core::auth::Principal;
use vademecum_mcp::{
    CallToolResult, Completion, CompletionRequest, Failure, GetPromptResult, Prompt,
    PromptArguments, RequestContext, Resource, ResourceContents, ResourceTemplate, Scope,
    ServerHandler, ToolCatalog,
};

use crate::{prompts, resources, tools};

/// Fixtures of the conformance suite.
#[derive(Debug)]
pub(crate) struct Fixtures {
    catalog: Arc<ToolCatalog>,
    changes: watch::Sender<u64>,
}

impl Fixtures {
    pub(crate) fn new() -> Self {
        Self {
            catalog: Arc::new(ToolCatalog::new(tools::tool_entries())),
            changes: watch::Sender::new(0),
        }
    }
}

impl ServerHandler for Fixtures {
    fn tools(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.catalog)
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<CallToolResult, Failure>> {
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
        tools::call_tool(tool, arguments, call).boxed_local()
    }

    fn list_resources(&self, _: &RequestContext) -> Vec<Resource> {
        resources::list_resources()
    }

    fn resource_templates(&self, _: &Principal) -> Vec<ResourceTemplate> {
        resources::list_templates()
    }

    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<ResourceContents, Failure>> {
        std::future::ready(resources::read_resource(uri)).boxed_local()
    }

    fn list_prompts<'a>(
        &'a self,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        std::future::ready(Ok(prompts::list_prompts())).boxed_local()
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<GetPromptResult, Failure>> {
        prompts::get_prompt(name, arguments, call).boxed_local()
    }

    fn complete_argument<'a>(
        &'a self,
        unfinished: &'a CompletionRequest,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        let typed = &unfinished.argument.value;
        let values = vec![format!("{typed}-one"), format!("{typed}-two")];
        std::future::ready(Ok(Completion { values, total: Some(2) })).boxed_local()
    }

    fn subscribe_changes(&self, _: &Principal) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn forget_scope(&self, _: &Principal, _: &Scope) {}
}
