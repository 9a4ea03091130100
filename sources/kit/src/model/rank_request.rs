//! Requests to rank and load matches of a source, and the resulting ranking.

use std::{sync::Arc, time::Instant};

use rusqlite::{Row, ToSql};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CancelFlag, CorpusStatistics, ScoreThreshold, Timestamp, Uri};
use crate::search::{FtsQuery, TitleMatches};

/// A request to rank a source's items.
#[derive(Clone, Debug, Default)]
pub struct RankRequest {
    /// The query.
    pub query: Arc<FtsQuery>,
    /// Filters that items must pass.
    pub filters: Filters,
    /// Best first or newest first.
    pub order: Order,
    /// Maximum number of matches to return. 0 requests only the statistics.
    pub limit: usize,
    /// Sum of the statistics of all other searched sources. Scores are computed as if all sources
    /// were one index.
    pub other_statistics: CorpusStatistics,
    /// Shared score threshold; matches below it may be omitted. Used for relevance order only.
    pub threshold: Option<Arc<ScoreThreshold>>,
    /// Shared comparison of titles with the query, if titles raise scores.
    pub titles: Option<Arc<TitleMatches>>,
}

impl RankRequest {
    /// Compares the column `titles` of an identified match with the query. Returns the URI.
    pub fn compare_titles(&self, row: &Row<'_>, uri: Uri) -> rusqlite::Result<Uri> {
        if let Some(titles) = &self.titles
            && let Some(all) = row.get::<_, Option<String>>("titles")?
        {
            titles.compare(&uri, &all);
        }
        Ok(uri)
    }
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

/// Filters on the items of a source. Each source reads only the filters it supports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Notes: item has at least one of these keywords.
    pub keywords: Vec<String>,
    /// Media: item has one of these types.
    pub media_types: Vec<String>,
    /// Media: ingested at this time or later.
    pub date_from: Option<Timestamp>,
    /// Media: ingested at this time or earlier.
    pub date_to: Option<Timestamp>,
    /// Chats: parts of a conversation to match.
    pub chat_scope: ChatMatchScope,
    /// Chats: conversations with this character.
    pub character_id: Option<i64>,
    /// Chats: messages of this sender.
    pub sender: Option<String>,
    /// Prompts: fields to match; empty means all.
    pub fields: Vec<PromptField>,
    /// Item was modified at this time or later; for a message, its date counts.
    pub after: Option<Timestamp>,
    /// Item was modified earlier than this time; for a message, its date counts.
    pub before: Option<Timestamp>,
    /// Item has at least one of these tags or of those below them, such as `work/plans` below `work`,
    /// ignoring ASCII case.
    pub tags: Vec<String>,
    /// Item is one of these, by identifier.
    pub items: Option<Vec<String>>,
}

/// Named parameters of a `passes` statement.
pub type FilterParameters = Vec<(&'static str, Box<dyn ToSql>)>;

impl Filters {
    /// Returns whether the filters can exclude items, not only parts of them.
    pub fn exclude_items(&self) -> bool {
        let (chat_scope, fields) = (self.chat_scope, self.fields.clone());
        *self != Self { chat_scope, fields, ..Self::default() }
    }

    /// Returns whether an item passes only if the query matches certain parts of it.
    pub fn depend_on_match(&self) -> bool {
        self.sender.is_some()
            || self.chat_scope != ChatMatchScope::default()
            || !self.fields.is_empty()
    }

    /// Returns the value of `:items`, which only statements `passes` have.
    pub(crate) fn items_parameter(&self) -> Option<String> {
        self.items.as_ref().map(|items| serde_json::json!(items).to_string())
    }

    /// Returns the parameters `:after`, `:before` and `:tags`, which all sources have.
    pub fn shared_parameters(&self) -> FilterParameters {
        vec![
            (":after", Box::new(self.after)),
            (":before", Box::new(self.before)),
            (":tags", Box::new(json_list(&self.tags))),
        ]
    }
}

/// Returns a list as JSON for a statement; `None`, which excludes nothing, for an empty list.
pub fn json_list(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| serde_json::json!(list).to_string())
}

/// Parts of a conversation to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatMatchScope {
    /// Titles and messages.
    #[default]
    Both,
    /// Titles only.
    Title,
    /// Messages only.
    Message,
}

/// Field of a prompt to match.
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
    /// Returns the field name, which is also the column name.
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

/// Matches of one source, best or newest first.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The first matches, up to the requested number.
    pub ranked: Vec<RankedMatch>,
    /// Total number of matches.
    pub total: usize,
    /// Highest score of all matches.
    pub best_score: f64,
    /// Statistics of this source alone.
    pub statistics: CorpusStatistics,
    /// Some items of the database supersede others.
    pub has_supersessions: bool,
}

impl Ranking {
    /// Scales scores to the range 0 to 1 by dividing by `best` (`docs/adr/0008-one-ranking.md`). If
    /// `best` is not positive, every score becomes 1.
    pub fn normalise(&mut self, best: f64) {
        for found in &mut self.ranked {
            found.score = if best > 0.0 { (found.score / best).clamp(0.0, 1.0) } else { 1.0 };
        }
    }
}

/// A ranked match whose content is not loaded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedMatch {
    /// Row in the source's full-text table.
    pub key: i64,
    /// URI of the match.
    pub uri: Uri,
    /// Score, higher is better: raw BM25 at first, 0 to 1 after normalisation.
    pub score: f64,
    /// Last modification time.
    pub last_modified: Option<Timestamp>,
}

/// A request to load matches as hits for a result list.
#[derive(Clone, Debug)]
pub struct HitRequest {
    /// The query, for choosing snippets.
    pub query: Arc<FtsQuery>,
    /// The filters of the search, for choosing snippets in the matched parts.
    pub filters: Filters,
    /// Weight of each phrase, in query order; rarer phrases weigh more. A missing weight means 1.
    pub weights: Arc<[f64]>,
    /// Maximum snippet length, in characters.
    pub snippet_length: usize,
    /// Whether hits include the matched ranges and words.
    pub highlight: bool,
    /// The matches to load.
    pub matches: Vec<RankedMatch>,
}

/// Maximum age of a request when its deadline is made. It bounds what a flag that outlives its request
/// would do.
const MAX_REQUEST_AGE: std::time::Duration = std::time::Duration::from_secs(1);

/// Time limit of a request: a fixed instant, or earlier if the request is cancelled.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// Latest instant at which the work must stop.
    pub expires_at: Instant,
    began_at: Instant,
    cancel: Option<CancelFlag>,
}

impl Deadline {
    /// Creates a deadline `patience` from now.
    pub fn after(timeout: std::time::Duration) -> Self {
        let began_at = Instant::now();
        Self { expires_at: began_at + timeout, began_at, cancel: None }
    }

    /// Returns the time at which the request began, at most [`MAX_REQUEST_AGE`] before this deadline
    /// was made. What others wrote before that time must be read.
    pub(crate) fn began_at(&self) -> Instant {
        self.began_at
    }

    /// Accepts what was true at most `age` ago, so that an archive which was asked since then is not
    /// asked again.
    #[must_use]
    pub fn accepting_age(self, age: std::time::Duration) -> Self {
        let began_at = self.began_at.checked_sub(age).unwrap_or(self.began_at);
        Self { began_at, ..self }
    }

    /// Adds a cancellation flag that can end the work before the deadline.
    #[must_use]
    pub fn with_cancellation(self, cancel: &CancelFlag) -> Self {
        let oldest = self.began_at.checked_sub(MAX_REQUEST_AGE).unwrap_or(self.began_at);
        let began_at = cancel.began_at().clamp(oldest, self.began_at);
        Self { cancel: Some(cancel.clone()), began_at, ..self }
    }

    /// Returns whether the deadline has passed or the request was cancelled.
    pub fn has_passed(&self) -> bool {
        self.is_cancelled() || Instant::now() >= self.expires_at
    }

    /// Returns whether the request was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelFlag::is_cancelled)
    }
}
