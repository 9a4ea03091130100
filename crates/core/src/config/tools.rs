//! Which tools there are, and what they look like.

use std::num::NonZeroU8;

use serde::{Deserialize, Deserializer};

/// Segments that an answer of `rag_search` may have.
const MOST_SEGMENTS: u8 = 20;

/// Which tools there are, and what they look like.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// How tool names are listed. Both forms can always be called.
    pub tool_names: ToolNames,
    /// Whether the library's own tools are offered.
    pub knowledge: Shown,
    /// Whether the deep-research tools `search` and `fetch` are offered.
    pub deep_research: Shown,
    /// Whether `rag.*` is offered: the tools for collections.
    pub rag: Shown,
    /// Whether `rag_search` and `verify_document_access` are offered.
    pub rag_search: Shown,
    /// Segments in an answer of `rag_search`: 1 to 20.
    #[serde(deserialize_with = "segments")]
    pub rag_search_segments: NonZeroU8,
    /// Whether `search_knowledgebase` is offered.
    pub knowledgebase: Shown,
    /// Whether the tools for databases are offered: `query`, `query_database` …
    pub databases: Shown,
    /// Whether the tools that change the library are offered, to those who may.
    pub write: bool,
    /// Tools that are neither listed nor answered, by name.
    pub disabled: Vec<String>,
    /// What the text of an answer is.
    pub text: TextForm,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            tool_names: ToolNames::default(),
            knowledge: Shown::default(),
            deep_research: Shown::default(),
            rag: Shown::default(),
            rag_search: Shown::default(),
            rag_search_segments: NonZeroU8::MIN.saturating_add(7),
            knowledgebase: Shown::default(),
            databases: Shown::default(),
            write: false,
            disabled: Vec::new(),
            text: TextForm::default(),
        }
    }
}

/// As many segments as one answer may have.
fn segments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU8, D::Error> {
    let segments = NonZeroU8::deserialize(deserializer)?;
    if segments.get() > MOST_SEGMENTS {
        let problem = format!("expected 1 to {MOST_SEGMENTS} segments, got {segments}");
        return Err(serde::de::Error::custom(problem));
    }
    Ok(segments)
}

/// How tool names are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ToolNames {
    /// `knowledge.search`, but `knowledge_search` for clients that refuse dots.
    #[default]
    Auto,
    /// `knowledge.search`.
    Dotted,
    /// `knowledge_search`.
    Underscored,
}

/// Whether something is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// If there is something for it to do, and the client is not known to have no use
    /// for it.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never: neither listed nor answered.
    Off,
}

/// What the text of an answer is, beside its structured content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextForm {
    /// Compact lines that a model can cite.
    #[default]
    Lines,
    /// The structured content once more, for programs that read nothing else.
    Json,
}

impl Shown {
    /// Whether it is offered; without an answer, the client decides.
    pub fn decided(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::On => Some(true),
            Self::Off => Some(false),
        }
    }
}
