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

/// Error in the tools of the settings.
#[derive(Debug, thiserror::Error)]
pub enum ToolSetError {
    /// A tool that is to be disabled does not exist, or is required.
    #[error("invalid `tools.disabled`")]
    Disabled(#[from] DisableToolError),
    /// A custom tool has the name of a tool of the program.
    #[error(
        "tools.custom.{name}: the program has a tool `{existing}`; give the custom tool another name"
    )]
    Taken {
        /// Name of the custom tool.
        name: &'static str,
        /// Name of the tool of the program.
        existing: &'static str,
    },
}

impl ToolSet {
    /// Creates a set that lists first the tools of the program and then those of the settings,
    /// without the ones that are disabled.
    pub(super) fn new(
        built_in: &[RegisteredTool],
        custom: Vec<RegisteredTool>,
        disabled: &[String],
    ) -> Result<Self, ToolSetError> {
        for tool in &custom {
            let name = tool.entry().name;
            let taken = built_in.iter().map(|tool| tool.entry().name).find(|existing| {
                [NameStyle::Dotted, NameStyle::Underscored]
                    .iter()
                    .any(|style| style.format_name(existing).eq_ignore_ascii_case(name))
            });
            if let Some(existing) = taken {
                return Err(ToolSetError::Taken { name, existing });
            }
        }
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
