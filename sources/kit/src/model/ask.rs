//! What a source is asked when something is searched, and what it answers.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cancel, Floor, Statistics, Timestamp, Uri};
use crate::retrieve::FtsQuery;

/// A request to rank a source's items.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// What to look for.
    pub query: Arc<FtsQuery>,
    /// Which items count.
    pub filters: Filters,
    /// Best first or newest first.
    pub order: Order,
    /// How many are wanted; with 0, only statistics are.
    pub take: usize,
    /// What else is searched for the same: the sum of the statistics of all
    /// other sources. Scores are computed as if everything were one index.
    pub others: Statistics,
    /// What need not be named because it cannot come first; for relevance only.
    pub floor: Option<Arc<Floor>>,
}

/// The order of search results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Best first.
    #[default]
    Relevance,
    /// Newest first.
    Recent,
}

/// Which items of a source count. Each source reads the filters it knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Notes: at least one of these keywords.
    pub keywords: Vec<String>,
    /// Media: one of these types.
    pub media_types: Vec<String>,
    /// Media: ingested then or later.
    pub date_from: Option<Timestamp>,
    /// Media: ingested then or earlier.
    pub date_to: Option<Timestamp>,
    /// Chats: what is matched.
    pub by: By,
    /// Chats: conversations with this character.
    pub character_id: Option<i64>,
    /// Chats: messages of this sender.
    pub sender: Option<String>,
    /// Prompts: the fields that are matched; all, if empty.
    pub fields: Vec<PromptField>,
}

/// What of a conversation is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Titles and messages.
    #[default]
    Both,
    /// Titles only.
    Title,
    /// Messages only.
    Message,
}

/// A field of a prompt that can be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptField {
    /// The name.
    Name,
    /// The description.
    Details,
    /// The system prompt.
    SystemPrompt,
    /// The user prompt.
    UserPrompt,
    /// The author.
    Author,
    /// The keywords.
    Keywords,
}

impl PromptField {
    /// The name of the field, which is also its column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Details => "details",
            Self::SystemPrompt => "system_prompt",
            Self::UserPrompt => "user_prompt",
            Self::Author => "author",
            Self::Keywords => "keywords",
        }
    }
}

/// What a source found, best or newest first.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The first of all matches, as many as were asked for.
    pub ranked: Vec<Ranked>,
    /// How many matches there are in all.
    pub total: usize,
    /// The highest score of all matches.
    pub best: f64,
    /// The source's own statistics, without those of the others.
    pub statistics: Statistics,
}

impl Ranking {
    /// Brings scores into the range from 0 to 1: the best match has 1
    /// (`docs/adr/0008-one-ranking.md`).
    pub fn normalise(&mut self, best: f64) {
        for found in &mut self.ranked {
            found.score = if best > 0.0 { (found.score / best).clamp(0.0, 1.0) } else { 1.0 };
        }
    }
}

/// One match, not read yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The row of the source's full-text table.
    pub key: i64,
    /// What matched.
    pub uri: Uri,
    /// How well it matches: higher is better. As BM25 computes it until the
    /// best match of the whole query is known, then from 0 to 1.
    pub score: f64,
    /// When it last changed.
    pub last_modified: Option<Timestamp>,
}

/// A request to read matches for a list of results.
#[derive(Clone, Debug)]
pub struct View {
    /// What was looked for: snippets show it.
    pub query: Arc<FtsQuery>,
    /// Which items counted: snippets show what was matched.
    pub filters: Filters,
    /// How much each phrase of the query weighs, in the order of the query;
    /// rare ones more. Where there is none, it is 1.
    pub weights: Arc<[f64]>,
    /// Longest snippet, in characters.
    pub snippet_length: usize,
    /// Whether hits say what in them matches.
    pub highlight: bool,
    /// The matches to read.
    pub wanted: Vec<Ranked>,
}

/// The moment after which nobody waits for an answer any more: a fixed one, or
/// sooner, when somebody says so.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// When it is over at the latest.
    pub at: Instant,
    cancel: Option<Cancel>,
}

impl Deadline {
    /// So long from now.
    pub fn after(patience: std::time::Duration) -> Self {
        Self { at: Instant::now() + patience, cancel: None }
    }

    /// The same, or sooner if the work is not wanted any more.
    #[must_use]
    pub fn unless(self, cancel: &Cancel) -> Self {
        Self { cancel: Some(cancel.clone()), ..self }
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || Instant::now() >= self.at
    }

    /// Whether it is over because the work is not wanted any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }
}
