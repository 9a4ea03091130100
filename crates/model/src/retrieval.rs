//! Amount of an item to read: the contract's `RetrievalOptions`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Loc, Order};

/// Mode of reading an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetrievalMode {
    /// A few hundred characters around the location.
    #[default]
    Snippet,
    /// The chunk at the location.
    Chunk,
    /// That chunk and its neighbours, within `max_tokens`.
    ChunkWithSiblings,
    /// The whole text, in pages if very long.
    Full,
    /// `chunk_with_siblings` when `max_tokens` is known, else `snippet`.
    Auto,
}

/// Amount of an item to read. All fields are optional.
///
/// The schema descriptions are short on purpose: they are part of every client's prompt.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrievalOptions {
    /// Reading mode; default `snippet`.
    #[schemars(extend("description" = "", "default" = "snippet"))]
    pub mode: Option<RetrievalMode>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(description = "In characters: 1 to 1000.")]
    pub snippet_length: Option<usize>,
    /// Token budget; default 5000.
    #[schemars(description = "", extend("default" = 5000))]
    pub max_tokens: Option<usize>,
    /// Characters per token: 1 to 20, default 4.
    #[schemars(description = "1 to 20, default 4.")]
    pub chars_per_token: Option<usize>,
    /// Chunk size in tokens if no chunks are stored: 16 to 8000, default 500.
    #[schemars(description = "", extend("default" = 500))]
    pub chunk_size_tokens: Option<usize>,
    /// Overlap of neighbouring chunks in tokens if no chunks are stored; default 50.
    #[schemars(description = "", extend("default" = 50))]
    pub chunk_overlap_tokens: Option<usize>,
    /// Chunks or messages to include on each side: 0 to 10, default 1.
    #[schemars(description = "0 to 10, default 1.")]
    pub sibling_window: Option<usize>,
    /// Whether to prefer chunks stored with a media item; default true.
    #[schemars(description = "", extend("default" = true))]
    pub prefer_prechunked: Option<bool>,
    /// Location to read at: the `loc` of a hit.
    #[schemars(description = "The loc of a hit.")]
    pub loc: Option<Loc>,
    /// Start offset for mode `full`, in characters: a `range.next_offset`.
    #[schemars(description = "A range.next_offset.")]
    pub offset: Option<usize>,
}

/// Session defaults that explicit options of a call override.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preferences {
    /// Maximum snippet length, in characters.
    pub snippet_length: Option<usize>,
    /// Token budget.
    pub max_tokens: Option<usize>,
    /// Chunks to include on each side.
    pub sibling_window: Option<usize>,
    /// Characters per token.
    pub chars_per_token: Option<usize>,
    /// Order of search results.
    pub order_by: Option<Order>,
}

impl Preferences {
    /// Returns these preferences, with unset fields filled from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            snippet_length: self.snippet_length.or(others.snippet_length),
            max_tokens: self.max_tokens.or(others.max_tokens),
            sibling_window: self.sibling_window.or(others.sibling_window),
            chars_per_token: self.chars_per_token.or(others.chars_per_token),
            order_by: self.order_by.or(others.order_by),
        }
    }
}

/// Retrieval options with all defaults applied and all numbers in range.
#[derive(Clone, Debug)]
pub struct Retrieval {
    /// Reading mode; never `Auto`.
    pub mode: RetrievalMode,
    /// Maximum snippet length, in characters.
    pub snippet_length: usize,
    /// Budget in characters, if the call or the session sets one.
    pub max_chars: Option<usize>,
    /// Chunk size in characters, if no chunks are stored.
    pub chunk_chars: usize,
    /// Overlap of neighbouring chunks in characters, if no chunks are stored.
    pub overlap_chars: usize,
    /// Chunks or messages to include on each side.
    pub sibling_window: usize,
    /// Whether stored chunks are preferred.
    pub prefer_prechunked: bool,
    /// Location to read at.
    pub loc: Loc,
    /// Start offset for mode `full`, in characters.
    pub offset: usize,
}

impl Retrieval {
    /// Maximum snippet length, in characters.
    pub const MAX_SNIPPET_CHARS: usize = 1_000;
    /// Default snippet length, in characters.
    pub const DEFAULT_SNIPPET_CHARS: usize = 300;
    /// Default budget of `chunk_with_siblings`, in tokens.
    pub const DEFAULT_BUDGET_TOKENS: usize = 5_000;
    /// Maximum number of characters in one response. Longer items are read in pages.
    pub const MAX_RESPONSE_CHARS: usize = 100_000;

    /// Clamps a snippet length to the allowed range, or returns the default.
    pub fn snippet_length(requested: Option<usize>) -> usize {
        requested.unwrap_or(Self::DEFAULT_SNIPPET_CHARS).clamp(1, Self::MAX_SNIPPET_CHARS)
    }

    /// Clamps the number of characters per token to 1 to 20. The default is 4.
    pub fn chars_per_token(requested: Option<usize>) -> usize {
        requested.unwrap_or(4).clamp(1, 20)
    }

    /// Resolves options: explicit options take precedence over session preferences, which take
    /// precedence over defaults.
    pub fn resolve(options: RetrievalOptions, session: &Preferences) -> Self {
        let chars_per_token =
            Self::chars_per_token(options.chars_per_token.or(session.chars_per_token));
        let max_tokens = options.max_tokens.or(session.max_tokens);
        let mode = match options.mode.unwrap_or_default() {
            RetrievalMode::Auto if max_tokens.is_some() => RetrievalMode::ChunkWithSiblings,
            RetrievalMode::Auto => RetrievalMode::Snippet,
            mode @ (RetrievalMode::Snippet
            | RetrievalMode::Chunk
            | RetrievalMode::ChunkWithSiblings
            | RetrievalMode::Full) => mode,
        };
        let chunk_tokens = options.chunk_size_tokens.unwrap_or(500).clamp(16, 8_000);
        let overlap_tokens = options.chunk_overlap_tokens.unwrap_or(50).min(chunk_tokens / 2);
        Self {
            mode,
            snippet_length: Self::snippet_length(options.snippet_length.or(session.snippet_length)),
            max_chars: max_tokens.map(|tokens| {
                tokens.max(1).saturating_mul(chars_per_token).min(Self::MAX_RESPONSE_CHARS)
            }),
            chunk_chars: chunk_tokens * chars_per_token,
            overlap_chars: overlap_tokens * chars_per_token,
            sibling_window: options.sibling_window.or(session.sibling_window).unwrap_or(1).min(10),
            prefer_prechunked: options.prefer_prechunked.unwrap_or(true),
            loc: options.loc.unwrap_or_default(),
            offset: options.offset.unwrap_or(0),
        }
    }

    /// Returns options that read the whole item, up to the response limit.
    pub fn full() -> Self {
        let options =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        Self::resolve(options, &Preferences::default())
    }

    /// Returns the budget of `chunk_with_siblings`, in characters.
    pub fn sibling_budget(&self) -> usize {
        self.max_chars.unwrap_or(Self::DEFAULT_BUDGET_TOKENS * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_override_session_which_overrides_defaults() {
        let session = Preferences {
            snippet_length: Some(100),
            max_tokens: Some(700),
            ..Preferences::default()
        };
        let explicit = RetrievalOptions { snippet_length: Some(50), ..RetrievalOptions::default() };
        assert_eq!(Retrieval::resolve(explicit, &session).snippet_length, 50);
        let silent = Retrieval::resolve(RetrievalOptions::default(), &session);
        assert_eq!((silent.snippet_length, silent.max_chars), (100, Some(2_800)));
        let unset = Retrieval::resolve(RetrievalOptions::default(), &Preferences::default());
        assert_eq!((unset.snippet_length, unset.max_chars), (300, None));
    }

    #[test]
    fn auto_mode_needs_budget_to_read_siblings() {
        let auto = |max_tokens| RetrievalOptions {
            mode: Some(RetrievalMode::Auto),
            max_tokens,
            ..RetrievalOptions::default()
        };
        let none = Preferences::default();
        assert_eq!(Retrieval::resolve(auto(Some(9)), &none).mode, RetrievalMode::ChunkWithSiblings);
        assert_eq!(Retrieval::resolve(auto(None), &none).mode, RetrievalMode::Snippet);
    }

    #[test]
    fn options_are_clamped_to_their_ranges() {
        let wild = RetrievalOptions {
            snippet_length: Some(usize::MAX),
            max_tokens: Some(usize::MAX),
            chars_per_token: Some(0),
            chunk_size_tokens: Some(0),
            chunk_overlap_tokens: Some(usize::MAX),
            sibling_window: Some(usize::MAX),
            ..RetrievalOptions::default()
        };
        let tame = Retrieval::resolve(wild, &Preferences::default());
        assert_eq!(tame.snippet_length, 1_000);
        assert_eq!(tame.max_chars, Some(Retrieval::MAX_RESPONSE_CHARS));
        assert_eq!((tame.chunk_chars, tame.overlap_chars, tame.sibling_window), (16, 8, 10));
    }
}
