//! `[tools]`: tools that are offered, and the form of their outputs.

use std::{collections::BTreeMap, num::NonZeroU8};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::{CustomTool, CustomToolName};

/// Maximum number of segments in an output of `rag_search`.
const MAX_SEGMENTS: u8 = 20;

/// Available tools and their presentation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Form of tool names in lists. Both forms can always be called.
    pub tool_names: ToolNames,
    /// The library's own tools, such as `knowledge.search`.
    pub knowledge: ToolVisibility,
    /// The deep-research tools `search` and `fetch`, with `"auto"` unless the client is known not
    /// to use them.
    pub deep_research: ToolVisibility,
    /// The tools for collections, `rag.*`, with `"auto"` if there is a collection.
    pub rag: ToolVisibility,
    /// `rag_search` and `verify_document_access`, for agents that use no other tools; with `"auto"`
    /// for delegating keys, which these agents use.
    pub rag_search: ToolVisibility,
    /// Maximum number of segments in a reply of `rag_search`: 1 to 20.
    #[serde(deserialize_with = "segments")]
    pub rag_search_segments: NonZeroU8,
    /// `search_knowledgebase`, with `"auto"` if there is a collection.
    pub knowledgebase: ToolVisibility,
    /// `query`, `query_database` and the other database tools, with `"auto"` if there is a profile
    /// for the caller.
    pub databases: ToolVisibility,
    /// Whether the tools that change the library are available: `notes.create`, `notes.append`,
    /// `notes.update`, `notes.delete`, `media.add` and `knowledge.tag`. A key or a token needs the
    /// scope `"write"` for them. People write on the pages whatever this says.
    pub write: bool,
    /// Tools that are neither listed nor callable, such as `"media.transcript"`.
    pub disabled: Vec<String>,
    /// Text of a reply, in addition to its structured content.
    pub text: TextFormat,
    /// Whether invisible and control characters are removed from what agents read, because they can hide
    /// instructions from people, and links and pictures that lead to other computers are plain text,
    /// because a client that loads a picture tells its address. A `get` with `raw` returns all as it is
    /// stored.
    pub safe_text: bool,
    /// Maximum number of stored prompts that clients list as commands: those with the keyword
    /// `"command"` first, then those that were changed last. The others are returned by name.
    pub listed_prompts: u16,
    /// Tools that run a statement on the database of a profile, by name.
    #[schemars(example = json!({ "orders_of_customer": {} }))]
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
            listed_prompts: 20,
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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ToolNames {
    /// With dots, but with underscores for clients that reject dots.
    #[default]
    Auto,
    /// With dots: `knowledge.search`.
    Dotted,
    /// With underscores: `knowledge_search`.
    Underscored,
}

/// Visibility of a group of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolVisibility {
    /// Offered if there is something for them to work on.
    #[default]
    Auto,
    /// Always offered.
    On,
    /// Neither listed nor callable.
    Off,
}

/// Format of the text content, next to the structured content of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextFormat {
    /// Compact lines that a model can cite.
    #[default]
    Lines,
    /// The structured content, for programs that read only text.
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
