//! Words of a query as they are typed: plain words, compound names, and words that are written in
//! several ways.

use std::ops::{ControlFlow, Range};

use vademecum_fts5::{Word, WordKind, fold_word, for_each_word};

use super::phrase::{Phrase, QueryWord};

/// Maximum number of words in a phrase.
pub(crate) const MAX_PHRASE_WORDS: usize = 256;

/// Words of one space-separated token.
pub(crate) struct TokenWords(pub(crate) Vec<TokenWord>);

pub(crate) enum TokenWord {
    /// A word.
    Word(TypedToken),
    /// A compound name and its parts.
    Name { name: String, parts: Vec<QueryWord> },
    /// A word with signs or a number, which is also written in other ways.
    Joined(Phrase),
    /// Consecutive characters of a script without spaces.
    Run(Vec<String>),
}

/// A word of the search text.
pub(crate) struct TypedToken {
    pub(crate) folded: String,
    pub(crate) accented: Option<String>,
    /// Whether a star follows the word, which is longer than one character.
    pub(crate) prefix: bool,
}

impl TypedToken {
    fn new(text: &str, word: &Word<'_>) -> Self {
        let rest = text.get(word.range.end..).unwrap_or_default();
        let prefix = rest.starts_with('*') && word.folded.chars().count() > 1;
        let accented = word.accented.map(str::to_owned);
        Self { folded: word.folded.to_owned(), accented, prefix }
    }

    /// Returns the word in lowercase, with its accents.
    pub(crate) fn written(&self) -> &str {
        self.accented.as_deref().unwrap_or(&self.folded)
    }
}

impl TokenWords {
    pub(crate) fn split(text: &str) -> Self {
        let mut pieces: Vec<TokenWord> = Vec::new();
        let mut whole_until = 0;
        for_each_word(text, |word| {
            let inside = word.range.start < whole_until;
            match (word.kind, pieces.last_mut()) {
                (_, Some(TokenWord::Joined(_)))
                | (WordKind::Name, Some(TokenWord::Name { .. }))
                    if inside => {}
                (WordKind::Joined, _) => {
                    let joined = joined_phrase(text, &word);
                    if is_inseparable(text.get(word.range.clone()).unwrap_or_default()) {
                        whole_until = word.range.end;
                        pieces.push(TokenWord::Joined(joined));
                    } else {
                        pieces.push(TokenWord::Joined(Phrase { spellings: Vec::new(), ..joined }));
                    }
                }
                (WordKind::Unspaced, Some(TokenWord::Run(run))) => run.push(word.folded.to_owned()),
                (WordKind::Unspaced, _) => {
                    pieces.push(TokenWord::Run(vec![word.folded.to_owned()]));
                }
                (WordKind::Name, _) => {
                    whole_until = word.range.end;
                    let name = word.folded.to_owned();
                    pieces.push(TokenWord::Name { name, parts: Vec::new() });
                }
                (WordKind::Plain, Some(TokenWord::Name { parts, .. })) if inside => {
                    parts.push(any_form(&word));
                }
                (WordKind::Plain, _) => pieces.push(TokenWord::Word(TypedToken::new(text, &word))),
            }
            ControlFlow::Continue(())
        });
        Self(pieces)
    }
}

pub(crate) fn any_form(word: &Word<'_>) -> QueryWord {
    QueryWord::inflected(word.folded, word.accented)
}

pub(crate) fn exact_word(word: &Word<'_>) -> QueryWord {
    QueryWord::exact(word.folded)
}

/// Returns the phrase of a word that is also written in other ways: without signs, and as its parts.
fn joined_phrase(text: &str, word: &Word<'_>) -> Phrase {
    let rest = text.get(word.range.end..).unwrap_or_default();
    if rest.starts_with('*') {
        return Phrase::beginning(word.folded);
    }
    let written = text.get(word.range.clone()).unwrap_or_default();
    let parts = parse_phrase(written, any_form).map(|phrase| phrase.words);
    let mut with_names = Vec::new();
    let mut name_until = 0;
    for_each_word(written, |part| {
        if part.kind != WordKind::Joined && part.range.start >= name_until {
            name_until = part.range.end;
            with_names.push(any_form(&part));
        }
        ControlFlow::Continue(())
    });
    let mut spellings: Vec<Vec<QueryWord>> = parts.into_iter().chain([with_names]).collect();
    spellings.dedup();
    Phrase { spellings, ..Phrase::from(any_form(word)) }
}

/// Returns whether the parts of a word with signs are no words of their own, as in `e-mail`,
/// `U.S.A.`, `12,500` and `iPhone15`, but not in `re-use`.
fn is_inseparable(written: &str) -> bool {
    let is_separable = written.starts_with(char::is_alphabetic)
        && written.chars().nth(1).is_some_and(char::is_alphanumeric)
        && !written.chars().all(char::is_alphanumeric);
    !is_separable
}

/// Parses the words of one space-separated token as a phrase, in all ways of writing it. Decimals
/// of a number are ignored.
pub(crate) fn parse_token_phrase(text: &str) -> Option<Phrase> {
    let mut joined = None;
    let mut end = 0;
    for_each_word(text, |word| {
        if word.kind == WordKind::Joined && word.position == 0 && joined.is_none() {
            joined = Some((joined_phrase(text, &word), word.range.clone()));
        }
        end = word.range.end.max(end);
        ControlFlow::Continue(())
    });
    let is_number = |text: Option<&str>| text.is_some_and(|it| !it.contains(char::is_alphabetic));
    let all = |range: &Range<usize>| range.end == end || is_number(text.get(range.start..));
    match joined {
        Some((phrase, range)) if all(&range) => Some(phrase),
        _ => parse_phrase(text, any_form),
    }
}

/// Parses all words of a text as one phrase.
pub(crate) fn parse_phrase(text: &str, to_word: impl Fn(&Word<'_>) -> QueryWord) -> Option<Phrase> {
    let mut found = Phrase::default();
    let mut signs_until = 0;
    for_each_word(text, |word| {
        let signs = word.kind == WordKind::Name && fold_word(word.folded) != word.folded;
        if signs {
            signs_until = word.range.end;
        }
        // `C++` is kept as a whole; `fooBar` is replaced by its parts.
        if signs || (!word.kind.has_parts() && word.range.start >= signs_until) {
            found.words.push(to_word(&word));
            found.prefix = TypedToken::new(text, &word).prefix;
        }
        let more = found.words.len() < MAX_PHRASE_WORDS;
        if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if found.prefix && found.words.len() == 1 {
        found.words = vec![QueryWord::Exact(fold_word(text))];
    }
    found.prefix &= found.words.len() == 1;
    (!found.words.is_empty()).then_some(found)
}
