//! How much of an item is read: the contract's `RetrievalOptions`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Loc, Order};

/// How an item is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A few hundred characters around the place that matters.
    #[default]
    Snippet,
    /// The chunk that the place is in.
    Chunk,
    /// That chunk and its neighbours, within `max_tokens`.
    ChunkWithSiblings,
    /// The whole text, page by page if it is very long.
    Full,
    /// `chunk_with_siblings` when `max_tokens` is known, else `snippet`.
    Auto,
}

/// How much of an item to read. Everything is optional.
///
/// The descriptions are what a model reads: the names say most of it, and every
/// client pays for each word.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrievalOptions {
    /// What to read; default `snippet`.
    #[schemars(description = "Default snippet.")]
    pub mode: Option<Mode>,
    /// Longest snippet, in characters: 1 to 1000.
    pub snippet_length: Option<usize>,
    /// Budget in tokens; default 5000.
    #[schemars(description = "Default 5000.")]
    pub max_tokens: Option<usize>,
    /// Characters that count as one token: 1 to 20, default 4.
    #[schemars(description = "1 to 20, default 4.")]
    pub chars_per_token: Option<usize>,
    /// Size of a chunk, in tokens, where none are stored: 16 to 8000, default 500.
    #[schemars(description = "Where none are stored: 16 to 8000, default 500.")]
    pub chunk_size_tokens: Option<usize>,
    /// Tokens that neighbouring chunks share, where none are stored; default 50.
    #[schemars(description = "Default 50.")]
    pub chunk_overlap_tokens: Option<usize>,
    /// Chunks (or messages) to consider on each side: 0 to 10, default 1.
    #[schemars(description = "0 to 10, default 1.")]
    pub sibling_window: Option<usize>,
    /// Whether chunks stored with a media item are preferred; default true.
    #[schemars(description = "Default true.")]
    pub prefer_prechunked: Option<bool>,
    /// Where to read: the `loc` of a hit.
    #[schemars(description = "The loc of a hit.")]
    pub loc: Option<Loc>,
    /// Where `full` begins to read, in characters: a `range.next_offset`.
    #[schemars(description = "Where full begins: a range.next_offset.")]
    pub offset: Option<usize>,
}

/// Wishes that hold for a whole session, unless a call says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Longest snippet, in characters.
    pub snippet_length: Option<usize>,
    /// Budget in tokens.
    pub max_tokens: Option<usize>,
    /// Chunks to consider on each side.
    pub sibling_window: Option<usize>,
    /// Characters that count as one token.
    pub chars_per_token: Option<usize>,
    /// Order of search results.
    pub order_by: Option<Order>,
}

impl Preferences {
    /// These wishes, and where there are none, those of `others`.
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

/// How much of an item to read, every gap filled and every number in range.
#[derive(Clone, Debug)]
pub struct Retrieval {
    /// What to read; never `Auto`.
    pub mode: Mode,
    /// Longest snippet, in characters.
    pub snippet_length: usize,
    /// Budget in characters, if the caller or the session named one.
    pub max_chars: Option<usize>,
    /// Size of a chunk in characters, where none are stored.
    pub chunk_chars: usize,
    /// Characters that neighbouring chunks share, where none are stored.
    pub overlap_chars: usize,
    /// Chunks or messages to consider on each side.
    pub sibling_window: usize,
    /// Whether stored chunks are preferred.
    pub prefer_prechunked: bool,
    /// Where to read.
    pub loc: Loc,
    /// Where `full` begins to read, in characters.
    pub offset: usize,
}

impl Retrieval {
    /// Longest snippet a caller can ask for, in characters.
    pub const MAX_SNIPPET: usize = 1_000;
    /// Snippet length where nobody says otherwise, in characters.
    pub const SNIPPET: usize = 300;
    /// Budget of `chunk_with_siblings` where nobody says otherwise, in tokens.
    pub const MAX_TOKENS: usize = 5_000;
    /// Most characters that one answer holds; longer items are read page by page.
    pub const FULL_CAP: usize = 100_000;

    /// Clamps a snippet length to what can be had.
    pub fn snippet_length(wish: Option<usize>) -> usize {
        wish.unwrap_or(Self::SNIPPET).clamp(1, Self::MAX_SNIPPET)
    }

    /// Clamps how many characters count as one token.
    pub fn chars_per_token(wish: Option<usize>) -> usize {
        wish.unwrap_or(4).clamp(1, 20)
    }

    /// Resolves what the caller asked for: explicit options before the
    /// session's preferences before the defaults.
    pub fn resolve(options: RetrievalOptions, session: &Preferences) -> Self {
        let chars_per_token =
            Self::chars_per_token(options.chars_per_token.or(session.chars_per_token));
        let max_tokens = options.max_tokens.or(session.max_tokens);
        let mode = match options.mode.unwrap_or_default() {
            Mode::Auto if max_tokens.is_some() => Mode::ChunkWithSiblings,
            Mode::Auto => Mode::Snippet,
            mode @ (Mode::Snippet | Mode::Chunk | Mode::ChunkWithSiblings | Mode::Full) => mode,
        };
        let chunk_tokens = options.chunk_size_tokens.unwrap_or(500).clamp(16, 8_000);
        let overlap_tokens = options.chunk_overlap_tokens.unwrap_or(50).min(chunk_tokens / 2);
        Self {
            mode,
            snippet_length: Self::snippet_length(options.snippet_length.or(session.snippet_length)),
            max_chars: max_tokens
                .map(|tokens| tokens.max(1).saturating_mul(chars_per_token).min(Self::FULL_CAP)),
            chunk_chars: chunk_tokens * chars_per_token,
            overlap_chars: overlap_tokens * chars_per_token,
            sibling_window: options.sibling_window.or(session.sibling_window).unwrap_or(1).min(10),
            prefer_prechunked: options.prefer_prechunked.unwrap_or(true),
            loc: options.loc.unwrap_or_default(),
            offset: options.offset.unwrap_or(0),
        }
    }

    /// The whole item, as far as one answer holds it.
    pub fn full() -> Self {
        let options = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        Self::resolve(options, &Preferences::default())
    }

    /// The budget of `chunk_with_siblings`, in characters.
    pub fn sibling_budget(&self) -> usize {
        self.max_chars.unwrap_or(Self::MAX_TOKENS * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_options_come_before_the_session_before_the_defaults() {
        let session = Preferences {
            snippet_length: Some(100),
            max_tokens: Some(700),
            ..Preferences::default()
        };
        let explicit = RetrievalOptions { snippet_length: Some(50), ..RetrievalOptions::default() };
        assert_eq!(Retrieval::resolve(explicit, &session).snippet_length, 50);
        let silent = Retrieval::resolve(RetrievalOptions::default(), &session);
        assert_eq!((silent.snippet_length, silent.max_chars), (100, Some(2_800)));
        let nobody = Retrieval::resolve(RetrievalOptions::default(), &Preferences::default());
        assert_eq!((nobody.snippet_length, nobody.max_chars), (300, None));
    }

    #[test]
    fn auto_needs_a_budget_to_read_siblings() {
        let auto = |max_tokens| RetrievalOptions {
            mode: Some(Mode::Auto),
            max_tokens,
            ..RetrievalOptions::default()
        };
        let none = Preferences::default();
        assert_eq!(Retrieval::resolve(auto(Some(9)), &none).mode, Mode::ChunkWithSiblings);
        assert_eq!(Retrieval::resolve(auto(None), &none).mode, Mode::Snippet);
    }

    #[test]
    fn every_number_ends_up_in_its_range() {
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
        assert_eq!(tame.max_chars, Some(Retrieval::FULL_CAP));
        assert_eq!((tame.chunk_chars, tame.overlap_chars, tame.sibling_window), (16, 8, 10));
    }
}
