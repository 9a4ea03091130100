//! A tool that answers from memory, for benches of the protocol.

use std::sync::Arc;

use futures_util::{FutureExt, future::LocalBoxFuture};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;
use vademecum_core::auth::{Principal, Right};
use vademecum_mcp::{
    CallToolResult, Completion, CompletionRequest, Failure, GetPromptResult, Prompt,
    PromptArguments, RequestContext, Resource, ResourceContents, ResourceTemplate, Scope,
    ServerHandler, ToolAudience, ToolCatalog, ToolEffect, ToolEntry, ToolPresentation, ToolSchemas,
    Toolset,
};

/// Number of hits in the result.
const HITS: usize = 10;

/// Returns the request to measure.
pub fn call_message() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "canned", "arguments": { "query": "when does rye bread rise", "limit": 10,
            "sources": ["notes", "media"], "filters": { "media": { "media_types": ["pdf"] } } },
    }})
    .to_string()
}

/// Returns the result: ten hits of a search.
pub fn canned_result() -> String {
    let hits: Vec<Value> = (0..HITS)
        .map(|number| {
            json!({
                "id": format!("{number}"), "source": "notes", "title": "Rye bread",
                "snippet": "It rises for as long as it takes; on a cold day that is longer.",
                "uri": format!("notes://{number}"), "score": 0.5, "score_type": "fts",
                "last_modified": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    json!({ "results": hits, "has_more": false, "next_offset": null }).to_string()
}

/// A tool that answers from memory.
#[derive(Debug)]
pub struct CannedTool {
    catalog: Arc<ToolCatalog>,
    answer: String,
}

impl Default for CannedTool {
    fn default() -> Self {
        let input = json!({ "type": "object", "properties": {} });
        let entry = ToolEntry {
            name: "canned",
            title: "Canned".into(),
            description: "Answers from memory.".into(),
            toolset: Toolset::Knowledge,
            right: Right::Read,
            effect: ToolEffect::Reads,
            schemas: ToolSchemas { input, output: None },
            audience: ToolAudience::Everyone,
            presentation: ToolPresentation::default(),
        };
        Self { catalog: Arc::new(ToolCatalog::new(vec![entry])), answer: canned_result() }
    }
}

impl ServerHandler for CannedTool {
    fn tools(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.catalog)
    }

    fn call_tool<'a>(
        &'a self,
        _: &'a str,
        arguments: &'a RawValue,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<CallToolResult, Failure>> {
        async move {
            call.items.record((0..HITS).map(|number| format!("notes://{number}")));
            let _read: Value = serde_json::from_str(arguments.get())
                .map_err(|error| Failure::invalid_params(error.to_string()))?;
            Ok(CallToolResult::from_json(self.answer.clone(), None))
        }
        .boxed_local()
    }

    fn list_resources(&self, _: &RequestContext) -> Vec<Resource> {
        Vec::new()
    }

    fn resource_templates(&self, _: &Principal) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<ResourceContents, Failure>> {
        std::future::ready(Err(Failure::resource_not_found(uri))).boxed_local()
    }

    fn list_prompts<'a>(
        &'a self,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        std::future::ready(Ok(Vec::new())).boxed_local()
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        _: &'a PromptArguments,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<GetPromptResult, Failure>> {
        std::future::ready(Err(Failure::invalid_params(name))).boxed_local()
    }

    fn complete_argument<'a>(
        &'a self,
        _: &'a CompletionRequest,
        _: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        std::future::ready(Ok(Completion::default())).boxed_local()
    }

    fn subscribe_changes(&self, _: &Principal) -> watch::Receiver<u64> {
        watch::Sender::new(0).subscribe()
    }

    fn forget_scope(&self, _: &Principal, _: &Scope) {}
}
