//! The server handler: what the protocol asks of the tools, resources, skills and prompts.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;
use vademecum_actors::CallError;
use vademecum_core::auth::{Principal, Right};
use vademecum_mcp::{
    CallToolResult, Completion, CompletionRequest, Failure, GetPromptResult, Prompt,
    PromptArguments, RequestContext, Resource, ResourceContents, ResourceTemplate, Scope,
    ServerHandler, Skill, ToolCatalog, ToolEffect, Toolset,
};

use super::{
    super::{
        ProfileShow, Query, RegisteredTool, Tool as _, completion, prompts, recall, resources,
        safe_text,
    },
    ToolRegistry,
};
use crate::failure::to_failure;

impl ServerHandler for ToolRegistry {
    fn tools(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.tool_set().catalog)
    }

    fn can_change_tools(&self) -> bool {
        self.can_change_tools
    }

    fn has_toolset(&self, toolset: Toolset, principal: &Principal) -> bool {
        match toolset {
            // Each custom tool exists for the users of its profile.
            Toolset::Knowledge | Toolset::DeepResearch | Toolset::Custom => true,
            // Only agents with a delegating key use these tools; other clients have better ones.
            Toolset::RagSearch => principal.is_delegated(),
            Toolset::Embedding => self.services.embeddings.is_some(),
            // Administrators build the collections of the settings by a tool of this set.
            Toolset::Rag => {
                self.services.collections.has_visible(principal)
                    || (principal.has_right(Right::Admin) && self.services.syncs.has_configured())
            }
            Toolset::Knowledgebase => self.services.collections.has_visible(principal),
            Toolset::Databases => {
                self.services.databases.profiles().visible_profiles(principal).next().is_some()
            }
        }
    }

    fn adapt_tool(&self, tool: &mut Value, principal: &Principal) {
        let profiles = self.services.databases.profiles();
        let names = profiles.visible_names(principal);
        let tools = self.tool_set();
        let name = tool["name"].as_str().and_then(|name| tools.by_name.get(name));
        let Some(entry) = name.map(RegisteredTool::entry) else { return };
        if entry.toolset != Toolset::Databases || names.is_empty() {
            return;
        }
        let argument = if entry.name == ProfileShow::NAME { "name" } else { "profile" };
        let property = format!("/inputSchema/properties/{argument}");
        if let Some(property) = tool.pointer_mut(&property) {
            property["enum"] = names.into();
        }
        let writes = profiles.visible_profiles(principal).any(|it| it.may_write());
        if entry.name == Query::NAME && writes && self.services.principal_may_write(principal) {
            tool["annotations"] = ToolEffect::Unbounded.annotations();
        }
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<CallToolResult, Failure>> {
        Box::pin(async move {
            let tools = self.tool_set();
            let Some(tool) = tools.by_name.get(tool) else {
                return Err(Failure::invalid_params(format!("unknown tool `{tool}`")));
            };
            let result = tool.call(&self.services, arguments, call).await;
            self.remember_shown(call).await?;
            result.map_err(|failure| self.services.clean_failure(failure))
        })
    }

    fn list_resources(&self, call: &RequestContext) -> Vec<Resource> {
        resources::list_resources(&self.services, call)
    }

    fn offers_skills(&self) -> bool {
        true
    }

    fn list_skills<'a>(
        &'a self,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Skill>, Failure>> {
        let (skills, principal) = (Arc::clone(&self.services.skills), call.principal.clone());
        Box::pin(async move {
            let listed = tokio::task::spawn_blocking(move || skills.list(&principal)).await;
            let mut listed = listed.map_err(|_| to_failure(&CallError::Unavailable))?;
            for skill in &mut listed {
                let object = Value::from(std::mem::take(&mut skill.frontmatter));
                let object = self.services.clean(object, safe_text::clean_value);
                skill.frontmatter = object.as_object().cloned().unwrap_or_default();
            }
            Ok(listed)
        })
    }

    fn recall<'a>(
        &'a self,
        prompt: &'a str,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(async move {
            let text = recall::recall(&self.services, prompt, call).await;
            self.remember_shown(call).await?;
            let clean = |text: String| self.services.clean(text, safe_text::clean_string);
            text.map(|text| text.map(clean))
                .map_err(|error| self.services.clean_failure(to_failure(&error)))
        })
    }

    fn resource_templates(&self, principal: &Principal) -> Vec<ResourceTemplate> {
        resources::resource_templates(self.services.collections.has_visible(principal))
    }

    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<ResourceContents, Failure>> {
        Box::pin(async move {
            let contents = resources::read_resource(&self.services, uri, call).await;
            self.remember_shown(call).await?;
            let contents = contents.map(|it| self.services.clean(it, safe_text::clean_resource));
            contents.map_err(|error| self.services.clean_failure(to_failure(&error)))
        })
    }

    fn list_prompts<'a>(
        &'a self,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        Box::pin(prompts::list_prompts(&self.services, call))
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<GetPromptResult, Failure>> {
        Box::pin(async move {
            let messages = prompts::prompt_messages(&self.services, name, arguments, call).await;
            self.remember_shown(call).await?;
            let messages = messages.map(|it| self.services.clean(it, safe_text::clean_prompt));
            messages.map_err(|failure| self.services.clean_failure(failure))
        })
    }

    fn complete_argument<'a>(
        &'a self,
        unfinished: &'a CompletionRequest,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        Box::pin(async move {
            let completion = completion::complete_argument(&self.services, unfinished, call).await;
            let clean =
                |it: &mut Completion| it.values.iter_mut().for_each(safe_text::clean_string);
            let completion = completion.map(|it| self.services.clean(it, clean));
            completion.map_err(|error| self.services.clean_failure(to_failure(&error)))
        })
    }

    fn subscribe_changes(&self, principal: &Principal) -> watch::Receiver<u64> {
        self.services.registry.library(principal).changes()
    }

    fn forget_scope(&self, principal: &Principal, scope: &Scope) {
        self.services.registry.remove_session(principal, scope);
    }
}

impl ToolRegistry {
    /// Lets the conversation of a call remember what the call has shown, before its answer is sent: what
    /// it writes later may come from there.
    async fn remember_shown(&self, call: &RequestContext) -> Result<(), Failure> {
        self.services.remember_shown(call).await.map_err(|error| to_failure(&error))
    }
}
