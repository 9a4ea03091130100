//! `[tools]`: tools that are offered, and the form of their outputs.

use std::{collections::BTreeMap, num::NonZeroU8};

use serde::{Deserialize, Deserializer};

use super::{CustomTool, CustomToolName};

/// Maximum number of segments in an output of `rag_search`.
const MAX_SEGMENTS: u8 = 20;

/// Tools that are offered, and the form of their outputs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Form of tool names in `tools/list`. Both forms can always be called.
    pub tool_names: ToolNames,
    /// Visibility of the tools for the user's own library.
    pub knowledge: ToolVisibility,
    /// Visibility of the deep-research tools `search` and `fetch`.
    pub deep_research: ToolVisibility,
    /// Visibility of `rag.*`, the tools for collections.
    pub rag: ToolVisibility,
    /// Visibility of `rag_search` and `verify_document_access`.
    pub rag_search: ToolVisibility,
    /// Number of segments in an output of `rag_search`: 1 to 20.
    #[serde(deserialize_with = "segments")]
    pub rag_search_segments: NonZeroU8,
    /// Visibility of `search_knowledgebase`.
    pub knowledgebase: ToolVisibility,
    /// Visibility of the tools for databases: `query`, `query_database` …
    pub databases: ToolVisibility,
    /// Whether tools that change the library are offered to users with write access.
    pub write: bool,
    /// Names of tools that are neither listed nor callable.
    pub disabled: Vec<String>,
    /// Format of the text content of tool outputs.
    pub text: TextFormat,
    /// Whether invisible and control characters are removed from all outputs.
    pub safe_text: bool,
    /// Tools that run a statement on the database of a profile, by name.
    pub custom: BTreeMap<CustomToolName, CustomTool>,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            tool_names: ToolNames::default(),
            knowledge: ToolVisibility::default(),
            deep_research: ToolVisibility::default(),
            rag: ToolVisibility::default(),
            rag_search: ToolVisibility::default(),
            rag_search_segments: NonZeroU8::MIN.saturating_add(7),
            knowledgebase: ToolVisibility::default(),
            databases: ToolVisibility::default(),
            write: false,
            disabled: Vec::new(),
            text: TextFormat::default(),
            safe_text: true,
            custom: BTreeMap::new(),
        }
    }
}

/// Deserializes a number of segments from 1 to 20.
fn segments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU8, D::Error> {
    let segments = NonZeroU8::deserialize(deserializer)?;
    if segments.get() > MAX_SEGMENTS {
        let problem = format!("expected 1 to {MAX_SEGMENTS} segments, got {segments}");
        return Err(serde::de::Error::custom(problem));
    }
    Ok(segments)
}

/// Form of tool names in `tools/list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ToolNames {
    /// `knowledge.search`, but `knowledge_search` for clients that reject dots.
    #[default]
    Auto,
    /// `knowledge.search`.
    Dotted,
    /// `knowledge_search`.
    Underscored,
}

/// Visibility of a group of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolVisibility {
    /// Offered if the group has data to work on, unless the client is known not to need it.
    #[default]
    Auto,
    /// Always offered.
    On,
    /// Neither listed nor callable.
    Off,
}

/// Format of the text content, next to the structured content of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextFormat {
    /// Compact lines that a model can cite.
    #[default]
    Lines,
    /// The structured content as JSON, for clients that read only the text.
    Json,
}

impl ToolVisibility {
    /// Returns whether the group is always (`true`) or never (`false`) offered, or `None` for
    /// `Auto`.
    pub fn fixed_visibility(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::On => Some(true),
            Self::Off => Some(false),
        }
    }
}
