//! Tools as the catalog lists them.

use std::{borrow::Cow, fmt, sync::Arc};

use serde_json::{Value, json};

use crate::NameStyle;
use vademecum_core::auth::{Principal, Right};

/// Description of a tool, from which listing, rights and annotations follow.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// Canonical name, with dots.
    pub name: &'static str,
    /// Title that clients show to people.
    pub title: Cow<'static, str>,
    /// Purpose and usage, for the model.
    pub description: Cow<'static, str>,
    /// Tool set that the tool belongs to.
    pub toolset: Toolset,
    /// Right that the principal needs to call it.
    pub right: Right,
    /// Side effect of a call.
    pub effect: ToolEffect,
    /// Input and output schemas.
    pub schemas: ToolSchemas,
    /// Principals for whom the tool exists.
    pub audience: ToolAudience,
    /// Hints for clients about its results.
    pub presentation: ToolPresentation,
}

/// Hints for clients about the results of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolPresentation {
    /// URI of the app that shows a result.
    pub app_uri: Option<&'static str>,
    /// A result can exceed the default limits of clients.
    pub has_long_results: bool,
}

/// Principals for whom a tool exists; for all others it is unknown.
#[derive(Clone, Default)]
pub enum ToolAudience {
    /// Every principal who may use the tool set.
    #[default]
    Everyone,
    /// The principals for whom the function returns true.
    Only(Arc<dyn Fn(&Principal) -> bool + Send + Sync>),
}

/// Input and output of a tool, as JSON Schema 2020-12.
#[derive(Clone, Debug)]
pub struct ToolSchemas {
    /// Schema of the arguments.
    pub input: Value,
    /// Schema of the result, if it has a fixed one.
    pub output: Option<Value>,
}

/// Side effect of a tool call, source of the tool's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Changes nothing.
    Reads,
    /// Adds data; repeating the call adds more.
    Adds,
    /// Adds data; repeating the call has no further effect.
    AddsOnce,
    /// Replaces data, so earlier data can be lost. Repeating the call has no further effect.
    Replaces,
    /// Depends on the arguments; each call can destroy data.
    Unbounded,
}

/// Group of tools that is listed or hidden as a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Toolset {
    /// Tools for the library.
    Knowledge,
    /// `search` and `fetch`, as deep-research clients expect them.
    DeepResearch,
    /// Text embeddings.
    Embedding,
    /// `rag.*`: collections split into chunks.
    Rag,
    /// `rag_search`, for agents that use only this tool.
    RagSearch,
    /// `search_knowledgebase`.
    Knowledgebase,
    /// External databases, through profiles.
    Databases,
    /// Tools of the settings.
    Custom,
}

impl Toolset {
    /// All tool sets.
    pub const ALL: [Self; 8] = [
        Self::Knowledge,
        Self::DeepResearch,
        Self::Embedding,
        Self::Rag,
        Self::RagSearch,
        Self::Knowledgebase,
        Self::Databases,
        Self::Custom,
    ];
}

impl fmt::Debug for ToolAudience {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Everyone => "Everyone",
            Self::Only(_) => "Only(..)",
        })
    }
}

impl ToolAudience {
    /// Returns `true` if the tool exists for this principal.
    pub(crate) fn includes(&self, principal: &Principal) -> bool {
        match self {
            Self::Everyone => true,
            Self::Only(includes) => includes(principal),
        }
    }
}

impl ToolEntry {
    /// Returns the tool as an entry of `tools/list`.
    pub(crate) fn to_json(&self, names: NameStyle) -> Value {
        let mut tool = json!({
            "name": names.format_name(self.name),
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schemas.input,
            "annotations": self.effect.annotations(),
        });
        if let (Value::Object(fields), Some(output)) = (&mut tool, &self.schemas.output) {
            fields.insert("outputSchema".to_owned(), output.clone());
        }
        tool
    }
}

impl ToolEffect {
    /// Returns the MCP annotations for this effect.
    pub fn annotations(self) -> Value {
        let (destructive, idempotent) = match self {
            // The other hints apply only to tools that write.
            Self::Reads => return json!({ "readOnlyHint": true, "openWorldHint": false }),
            Self::Unbounded => (true, false),
            Self::Adds => (false, false),
            Self::AddsOnce => (false, true),
            Self::Replaces => (true, true),
        };
        json!({
            "readOnlyHint": false,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": false,
        })
    }
}
