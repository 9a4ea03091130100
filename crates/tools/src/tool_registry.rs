//! The registry of tools, resources and prompts: implements the MCP server handler.

mod server_handler;

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, value::to_raw_value};
use vademecum_actors::CallError;
use vademecum_core::config::TextFormat;
use vademecum_mcp::{DisableToolError, RequestContext};

use super::{
    RegisteredTool, Tool, ToolCaller, ToolServices,
    arguments::{parse_lenient, parse_strict},
    tool_set::ToolSet,
};

/// The tools that are offered, and the services they use.
#[derive(Debug)]
pub struct ToolRegistry {
    services: Arc<ToolServices>,
    built_in: Vec<RegisteredTool>,
    tools: RwLock<Arc<ToolSet>>,
    /// [`replace_custom_tools`](Self::replace_custom_tools) may be called while clients are served.
    can_change_tools: bool,
}

impl ToolRegistry {
    /// Creates a registry that lists `tools` in this order. `can_change_tools` says whether
    /// [`replace_custom_tools`](Self::replace_custom_tools) may be called while clients are served.
    pub fn new(
        services: ToolServices,
        tools: Vec<RegisteredTool>,
        can_change_tools: bool,
    ) -> Result<Self, DisableToolError> {
        let set = ToolSet::new(&tools, Vec::new(), &[])?;
        let tools_now = RwLock::new(Arc::new(set));
        Ok(Self {
            services: Arc::new(services),
            built_in: tools,
            tools: tools_now,
            can_change_tools,
        })
    }

    /// Replaces the tools of the settings, and removes the tools named in `disabled`. Returns true
    /// if the list of tools has changed. Fails if a tool to be disabled is unknown; the tools stay as
    /// they are then.
    pub fn replace_custom_tools(
        &self,
        custom: Vec<RegisteredTool>,
        disabled: &[String],
    ) -> Result<bool, DisableToolError> {
        let set = ToolSet::new(&self.built_in, custom, disabled)?;
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = set.differs_from(&current);
        *current = Arc::new(set);
        Ok(has_changed)
    }

    /// Returns the names of the tools of the program.
    pub fn program_tools(&self) -> Vec<&'static str> {
        self.built_in.iter().map(|tool| tool.entry().name).collect()
    }

    /// Returns the services with which the tools are called.
    pub fn services(&self) -> &ToolServices {
        &self.services
    }

    /// Runs a tool for a page, and returns its output without a text for models.
    pub async fn run_tool<T: Tool>(
        &self,
        arguments: &Value,
        call: &RequestContext,
    ) -> Result<T::Output, CallError> {
        let tools = self.tool_set();
        let tool = tools.by_name.get(T::NAME).ok_or(CallError::Unavailable)?;
        let arguments = to_raw_value(arguments).map_err(|_| CallError::Unavailable)?;
        let input: T = parse_lenient(&arguments, &tool.entry().schemas.input)?;
        let services = ToolServices { text: TextFormat::Json, ..(*self.services).clone() };
        Ok(input.call(&services, call).await?.output)
    }

    /// Runs a tool that writes for a person on a page. Texts are taken as they are, and the change is
    /// one of the person.
    pub async fn run_tool_of_person<T: Tool>(
        &self,
        arguments: &Value,
        call: &RequestContext,
    ) -> Result<T::Output, CallError> {
        let built_in = self.built_in.iter().find(|tool| tool.entry().name == T::NAME);
        let tool = built_in.ok_or(CallError::Unavailable)?;
        let arguments = to_raw_value(arguments).map_err(|_| CallError::Unavailable)?;
        let input: T = parse_strict(&arguments, &tool.entry().schemas.input)?;
        let services = ToolServices {
            caller: ToolCaller::Person,
            text: TextFormat::Json,
            cleans_text: false,
            ..(*self.services).clone()
        };
        Ok(input.call(&services, call).await?.output)
    }

    /// Returns the tools that are offered now.
    fn tool_set(&self) -> Arc<ToolSet> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }
}
