//! What a source holds, besides the items themselves.

use super::Timestamp;

/// How much a source holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Items that can be found and read.
    pub items: usize,
    /// Passages of these items: stored chunks, messages; an item that is stored
    /// in one piece is one.
    pub passages: usize,
    /// When one of them last changed.
    pub newest: Option<Timestamp>,
}

/// An item, as whoever follows a source needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The row of the full-text table that stands for all of it.
    pub key: i64,
    /// Its identifier.
    pub id: String,
    /// Another whenever it has changed.
    pub stamp: String,
}

/// What something that is being typed may become, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// The first of all, as many as were asked for.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

/// A prompt as the user keeps it, to be filled in and sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPrompt {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub details: Option<String>,
    /// What the model is told first.
    pub system_prompt: Option<String>,
    /// What the user says.
    pub user_prompt: Option<String>,
}
