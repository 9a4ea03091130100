//! The tools that are offered at one time: those of the program and those of the settings.

use std::{collections::HashMap, sync::Arc};

use vademecum_mcp::{DisableToolError, NameStyle, ToolCatalog, ToolListing, Toolset};

use super::RegisteredTool;

/// Tools by name, and their catalog.
#[derive(Debug)]
pub(super) struct ToolSet {
    pub(super) catalog: Arc<ToolCatalog>,
    pub(super) by_name: HashMap<&'static str, RegisteredTool>,
}

impl ToolSet {
    /// Creates a set that lists first the tools of the program and then those of the settings,
    /// without the ones that are disabled. The names differ. Fails if a tool to be disabled is unknown
    /// or required.
    pub(super) fn new(
        built_in: &[RegisteredTool],
        custom: Vec<RegisteredTool>,
        disabled: &[String],
    ) -> Result<Self, DisableToolError> {
        let tools: Vec<RegisteredTool> = built_in.iter().cloned().chain(custom).collect();
        let catalog = ToolCatalog::new(tools.iter().map(|tool| tool.entry().clone()).collect());
        let by_name = tools.into_iter().map(|tool| (tool.entry().name, tool)).collect();
        Ok(Self { catalog: Arc::new(catalog.without(disabled)?), by_name })
    }

    /// Returns true if the sets are listed differently.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        let listing = ToolListing {
            name_style: NameStyle::Dotted,
            toolsets: Toolset::ALL.to_vec(),
            include_write: true,
            include_admin: true,
            access: None,
            fields: Vec::new(),
        };
        self.catalog.list_tools(&listing) != other.catalog.list_tools(&listing)
    }
}
