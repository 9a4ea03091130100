//! Counts, item versions, suggestions and stored prompts of a source.

use super::Timestamp;

/// Item and passage counts of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceStats {
    /// Number of items that can be found and read.
    pub items: usize,
    /// Number of passages (stored chunks or messages). An item stored in one piece counts as one
    /// passage.
    pub passages: usize,
    /// Latest modification time of any item.
    pub newest: Option<Timestamp>,
}

/// Version of an item, for callers that track changes of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemVersion {
    /// Row in the full-text table that represents the whole item.
    pub key: i64,
    /// Identifier of the item.
    pub id: String,
    /// Opaque value that differs after every change.
    pub stamp: String,
}

/// Completions of a partially typed text, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// The first completions, up to the requested number.
    pub values: Vec<String>,
    /// Total number of completions.
    pub total: usize,
}

/// A stored prompt template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPrompt {
    /// Name, unique among the prompts of a library.
    pub name: String,
    /// Description of its purpose.
    pub details: Option<String>,
    /// System prompt for the model.
    pub system_prompt: Option<String>,
    /// Text of the user's message; `None` if the prompt has only a system prompt.
    pub user_prompt: Option<String>,
}
