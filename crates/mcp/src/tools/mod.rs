//! The catalog of tools and its listing.

mod catalog;
pub(crate) mod icon;
pub(crate) mod schema_compaction;
mod suggestion;
mod tool_entry;
mod tool_field;
mod tool_name;

pub use catalog::{DisableToolError, ToolCatalog, ToolListing};
pub use suggestion::{closest_name, did_you_mean, normalize_name};
pub use tool_entry::{ToolAudience, ToolEffect, ToolEntry, ToolPresentation, ToolSchemas, Toolset};
pub use tool_field::ToolField;
pub use tool_name::intern_tool_name;
