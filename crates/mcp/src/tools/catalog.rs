//! Catalog of all tools, indexed by dotted and underscored name.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::{
    Failure, NameStyle, ToolEffect, ToolEntry, ToolField, Toolset, closest_name, did_you_mean,
    tools::schema_compaction::SchemaCompactor,
};
use vademecum_core::auth::{Principal, Right};

/// Selection of tools that one client is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolListing {
    /// Style of tool names: with dots, or with underscores for clients that reject dots.
    pub name_style: NameStyle,
    /// Tool sets that are listed.
    pub toolsets: Vec<Toolset>,
    /// List tools that modify data.
    pub include_write: bool,
    /// List tools that need the right `admin`.
    pub include_admin: bool,
    /// List only tools in the scope of this principal, if given.
    pub access: Option<Principal>,
    /// Optional fields that the client reads.
    pub fields: Vec<ToolField>,
}

/// All tools in listing order.
#[derive(Clone, Debug)]
pub struct ToolCatalog {
    entries: Vec<ToolEntry>,
    by_name: HashMap<String, usize>,
    disabled: HashSet<usize>,
}

/// Tool that gives access to resources to clients without resource support. It cannot be disabled.
const REQUIRED_TOOL: &str = "read_resource";

/// Other names under which tools can be called: alias and name. They are not listed.
const ALIASES: [(&str, &str); 1] = [("knowledge.recent", "knowledge.list")];

/// Reason why a name in `tools.disabled` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DisableToolError {
    /// No tool has this name.
    #[error("there is no tool `{name}` to disable{}", did_you_mean(*.nearest))]
    Unknown {
        /// Name in the settings.
        name: String,
        /// Most similar tool name.
        nearest: Option<&'static str>,
    },
    /// Clients without resource support need the tool.
    #[error(
        "the tool `{REQUIRED_TOOL}` cannot be disabled: clients without resource support need it; take \
         it out of tools.disabled (databases = \"off\" hides it with all tools for databases)"
    )]
    Required,
}

impl ToolCatalog {
    /// Creates a catalog that lists the tools in this order. Names must be unique.
    pub fn new(entries: Vec<ToolEntry>) -> Self {
        let mut by_name = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            by_name.insert(entry.name.to_owned(), index);
            by_name.insert(NameStyle::Underscored.format_name(entry.name), index);
        }
        for (alias, name) in ALIASES {
            if let Some(index) = by_name.get(name).copied() {
                by_name.insert(alias.to_owned(), index);
                by_name.insert(NameStyle::Underscored.format_name(alias), index);
            }
        }
        Self { entries, by_name, disabled: HashSet::new() }
    }

    /// Removes the named tools, each in either style. Fails if a tool is unknown or required.
    pub fn without(mut self, disabled: &[String]) -> Result<Self, DisableToolError> {
        for name in disabled {
            let Some(index) = self.by_name.get(name) else {
                let nearest = closest_name(name, self.entries.iter().map(|entry| entry.name));
                return Err(DisableToolError::Unknown { name: name.clone(), nearest });
            };
            if self.entries.get(*index).is_some_and(|entry| entry.name == REQUIRED_TOOL) {
                return Err(DisableToolError::Required);
            }
            self.disabled.insert(*index);
        }
        Ok(self)
    }

    /// Returns true for a tool that the operator disabled.
    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|index| self.disabled.contains(index))
    }

    /// Returns the listed tool with this dotted or underscored name. The error explains why there
    /// is none and names the closest match.
    pub fn find_tool(&self, name: &str, listing: &ToolListing) -> Result<&ToolEntry, Failure> {
        let index = self.by_name.get(name);
        let known = index.and_then(|index| Some((*index, self.entries.get(*index)?)));
        match known {
            Some((index, entry)) if self.is_listed(index, entry, listing) => Ok(entry),
            Some((index, _)) if self.disabled.contains(&index) => Err(self.unknown_tool_failure(
                &format!("the tool `{name}` is disabled on this server"),
                listing,
            )),
            Some((_, entry)) if entry.toolset == Toolset::Embedding => {
                let problem = "is not enabled on this server: no embeddings.provider is set";
                Err(self.unknown_tool_failure(&format!("the tool `{name}` {problem}"), listing))
            }
            Some(_) | None => {
                let names = self.tool_names(listing);
                let nearest = closest_name(name, names.iter().map(String::as_str));
                Err(self.unknown_tool_failure(
                    &format!("unknown tool `{name}`{}", did_you_mean(nearest)),
                    listing,
                ))
            }
        }
    }

    /// Returns all tools in listing order, disabled ones included.
    pub fn entries(&self) -> &[ToolEntry] {
        &self.entries
    }

    /// Returns true if a tool has an app that shows its results.
    pub(crate) fn has_apps(&self) -> bool {
        self.entries.iter().any(|entry| entry.presentation.app_uri.is_some())
    }

    /// Returns the names of the listed tools, in the style of the listing.
    pub fn tool_names(&self, listing: &ToolListing) -> Vec<String> {
        self.listed_entries(listing)
            .map(|entry| listing.name_style.format_name(entry.name))
            .collect()
    }

    /// Returns the entries of `tools/list`.
    pub fn list_tools(&self, listing: &ToolListing) -> Vec<Value> {
        let mut compactor = SchemaCompactor::default();
        let listed = self.listed_entries(listing).map(|entry| {
            let mut tool = entry.to_json(listing.name_style);
            compactor.compact_input(entry.name, &mut tool["inputSchema"]);
            if let Some(output) = tool.get_mut("outputSchema") {
                compactor.compact_output(output);
            }
            if let Toolset::Knowledge | Toolset::DeepResearch = entry.toolset {
                compactor.compact_listed_by_default(&mut tool);
            }
            if listing.name_style != NameStyle::Dotted {
                self.rename_in_descriptions(&mut tool, listing.name_style);
            }
            for field in &listing.fields {
                field.add_to(&mut tool, entry);
            }
            tool
        });
        listed.collect()
    }

    fn listed_entries<'a>(
        &'a self,
        listing: &'a ToolListing,
    ) -> impl Iterator<Item = &'a ToolEntry> {
        let all = self.entries.iter().enumerate();
        all.filter(move |(index, entry)| self.is_listed(*index, entry, listing))
            .map(|(_, entry)| entry)
    }

    fn is_listed(&self, index: usize, entry: &ToolEntry, listing: &ToolListing) -> bool {
        let toolset = listing.toolsets.contains(&entry.toolset);
        let right = match entry.right {
            // Admin tools do not modify the library, so `write` does not apply to them.
            Right::Admin => listing.include_admin,
            Right::Write => listing.include_write,
            Right::Read => entry.effect == ToolEffect::Reads || listing.include_write,
        };
        let in_scope = listing
            .access
            .as_ref()
            .is_none_or(|it| it.access().permits_tool(entry.name) && entry.audience.includes(it));
        toolset && right && in_scope && !self.disabled.contains(&index)
    }

    /// Rewrites tool names in a text to this style.
    pub(crate) fn format_tool_names(&self, text: &str, style: NameStyle) -> String {
        self.entries.iter().fold(text.to_owned(), |text, entry| {
            text.replace(entry.name, &style.format_name(entry.name))
        })
    }

    /// Rewrites tool names in every `description` to this style.
    fn rename_in_descriptions(&self, value: &mut Value, style: NameStyle) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == "description" => {
                            *text = self.format_tool_names(text, style);
                        }
                        value => self.rename_in_descriptions(value, style),
                    }
                }
            }
            Value::Array(values) => {
                for value in values.iter_mut() {
                    self.rename_in_descriptions(value, style);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn unknown_tool_failure(&self, problem: &str, listing: &ToolListing) -> Failure {
        let known = self.tool_names(listing).join(", ");
        Failure::invalid_params(format!("{problem}; expected one of {known}"))
    }
}
