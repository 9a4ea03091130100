//! What was asked for, as phrases that FTS5 always accepts.
//!
//! Any word may match, best first; a natural question is the normal query.
//! `"phrases"` must occur, exactly as they are written, and so must what a
//! field is named for, as in `title:bread`; `-words` must not occur. `knead*`
//! is any word that begins so. Everything else that looks like an operator is
//! read as words, and so is everything in a text that is too long for a query.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use vademecum_fts5::{EXACT, Kind, Word, each_word, exact_token, fold_word, stem};

use super::{phrase::Phrase, stop_words::StopWords};
use crate::model::{Field, Statistics};

/// Phrases of one kind that a query looks for at most: beyond that, more words
/// cost time and change nothing about what comes first.
const MOST_PHRASES: usize = 256;

/// What a phrase stands between.
const QUOTES: [char; 4] = ['"', '“', '”', '„'];

/// Words of a query at most; a longer one is prose.
const LONGEST_QUERY: usize = 32;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FtsQuery {
    typed: String,
    any: Vec<Phrase>,
    required: Vec<Phrase>,
    excluded: Vec<Phrase>,
}

impl FtsQuery {
    /// Reads what is looked for. A text without words finds nothing.
    pub fn parse(text: &str) -> Self {
        let mut query = Self { typed: text.to_owned(), ..Self::default() };
        let stop_words = StopWords::of(text);
        let mut dropped = Vec::new();
        let parts = if is_prose(text) { words_of(text).collect() } else { parts(text) };
        for Part { kind, field, text } in parts {
            match (kind, field) {
                (PartKind::Words, None) => query.add_words(text, stop_words, &mut dropped),
                (PartKind::Words, Some(_)) => {
                    let words = phrase(text, stemmed).map(|words| Phrase { field, ..words });
                    query.required.extend(words);
                }
                (PartKind::Quoted, _) => {
                    let words = phrase(text, exact_token).map(|words| Phrase { field, ..words });
                    query.required.extend(words);
                }
                (PartKind::Excluded, _) => query.excluded.extend(phrase(text, stemmed)),
                (PartKind::ExcludedQuoted, _) => query.excluded.extend(phrase(text, exact_token)),
            }
        }
        if query.is_empty() {
            // Only stop words, or only exclusions: then these are meant.
            query.any = dropped;
            if query.any.is_empty() {
                query.any = std::mem::take(&mut query.excluded);
            }
        }
        query.trim();
        query
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty() && self.required.is_empty()
    }

    /// What was typed.
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// The same, but what had to occur only may; `None` if it is the same.
    #[must_use]
    pub fn relaxed(&self) -> Option<Self> {
        let mut relaxed = self.clone();
        let required = relaxed.required.drain(..).flat_map(|phrase| {
            let words = phrase.tokens.iter().filter(|_| phrase.tokens.len() > 1);
            let words: Vec<Phrase> =
                words.map(|word| Phrase::of(stemmed(word.trim_start_matches(EXACT)))).collect();
            words.into_iter().chain([phrase])
        });
        relaxed.any.extend(required);
        relaxed.trim();
        (!self.required.is_empty()).then_some(relaxed)
    }

    /// The words, folded, that nothing contains.
    pub fn unmatched(&self, statistics: &Statistics) -> Vec<String> {
        let counts = self.phrases().zip(&statistics.matches);
        let nowhere = counts.filter(|(phrase, matches)| **matches == 0 && !phrase.prefix);
        let tokens: HashSet<&str> = nowhere
            .filter_map(|(phrase, _)| match phrase.tokens.as_slice() {
                [token] => Some(token.as_str()),
                _ => None,
            })
            .collect();
        let mut words = Vec::new();
        each_word(&self.typed, |word| {
            let nowhere = stem(word.folded, |stem| tokens.contains(stem))
                || tokens.contains(exact_token(word.folded).as_str());
            if nowhere && !words.iter().any(|known| known == word.folded) {
                words.push(word.folded.to_owned());
            }
            ControlFlow::Continue(())
        });
        words
    }

    /// The same with other words, both folded; `None` if it is the same.
    #[must_use]
    pub fn corrected(&self, corrections: &HashMap<String, String>) -> Option<Self> {
        let forms = |word: &str| [stemmed(word), exact_token(word)];
        let tokens: HashMap<String, String> = corrections
            .iter()
            .flat_map(|(asked, stored)| forms(asked).into_iter().zip(forms(stored)))
            .collect();
        let mut corrected = self.clone();
        for phrase in corrected.required.iter_mut().chain(&mut corrected.any) {
            for token in &mut phrase.tokens {
                if let Some(other) = tokens.get(token) {
                    token.clone_from(other);
                }
            }
        }
        corrected.trim();
        (corrected != *self).then_some(corrected)
    }

    /// The words that are looked for, as they are stored.
    pub fn words(&self) -> String {
        let words = self.phrases().map(|phrase| phrase.tokens.join(" "));
        words.map(|words| words.replace(EXACT, "")).collect::<Vec<_>>().join(" ")
    }

    /// The whole query as one expression over all columns of a table, which
    /// FTS5 can rank by itself: what its own `bm25()` is measured with.
    pub fn expression(&self) -> String {
        let list = |phrases: &[Phrase], operator: &str| {
            let repeated = |phrase: &Phrase| vec![phrase.expression(); phrase.times];
            phrases.iter().flat_map(repeated).collect::<Vec<_>>().join(operator)
        };
        let required = list(&self.required, " AND ");
        let wanted = match (self.required.is_empty(), self.any.is_empty()) {
            (true, _) => format!("({})", list(&self.any, " OR ")),
            (false, true) => required,
            (false, false) => format!("{required} AND ({required} OR {})", list(&self.any, " OR ")),
        };
        if self.excluded.is_empty() {
            return wanted;
        }
        format!("({wanted}) NOT ({})", list(&self.excluded, " OR "))
    }

    /// Every phrase that a match may contain: first those that it must
    /// contain, then the others. Weights and statistics come in this order.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = &Phrase> {
        self.required.iter().chain(&self.any)
    }

    /// How many of the phrases a match must contain.
    pub(crate) fn required(&self) -> usize {
        self.required.len()
    }

    /// The phrases that a match must not contain.
    pub(crate) fn excluded(&self) -> &[Phrase] {
        &self.excluded
    }

    /// Adds what stands between two spaces: a word, or several that are joined
    /// by signs. Those count one by one; those of a name, as in `foo_bar`, once
    /// more where they stand together.
    fn add_words(&mut self, text: &str, stop_words: StopWords, dropped: &mut Vec<Phrase>) {
        let pieces = Pieces::of(text);
        for piece in &pieces.0 {
            match piece {
                Piece::Word(folded) => {
                    let list =
                        if stop_words.contains(folded) { &mut *dropped } else { &mut self.any };
                    list.push(match folded.strip_suffix('*') {
                        Some(beginning) => Phrase { prefix: true, ..Phrase::of(beginning) },
                        None => Phrase::of(stemmed(folded)),
                    });
                }
                Piece::Whole { name, parts } => {
                    self.any.push(Phrase::of(stemmed(name)));
                    if parts.len() > 1 {
                        self.any.push(Phrase { tokens: parts.clone(), ..Phrase::default() });
                    }
                }
                Piece::Run(run) => match run.as_slice() {
                    [] => {}
                    [single] => self.any.push(Phrase::of(single)),
                    several => {
                        let pairs = several.windows(2).map(|pair| Phrase::of(pair.concat()));
                        self.any.extend(pairs);
                    }
                },
            }
        }
        if pieces.0.len() > 1 && is_name(text) {
            self.any.extend(phrase(text, stemmed));
        }
    }

    /// Counts what is said several times, and keeps what fits.
    fn trim(&mut self) {
        for phrases in [&mut self.required, &mut self.any, &mut self.excluded] {
            let mut places: HashMap<Phrase, usize> = HashMap::new();
            let mut kept: Vec<Phrase> = Vec::new();
            for phrase in phrases.drain(..) {
                let place =
                    *places.entry(Phrase { times: 1, ..phrase.clone() }).or_insert(kept.len());
                match kept.get_mut(place) {
                    Some(known) => known.times += phrase.times,
                    None => kept.push(phrase),
                }
            }
            kept.truncate(MOST_PHRASES);
            *phrases = kept;
        }
    }
}

/// Whether words that are joined by signs are a name: an identifier, a version,
/// an address, a path. Words with hyphens and slashes are words, and `e.g.` is
/// none: that they stand together made results worse wherever it was measured.
fn is_name(text: &str) -> bool {
    let inside = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    let abbreviated = |part: &str| part.len() < 2 && part.starts_with(char::is_alphabetic);
    inside.contains(['_', '&', '@', '\\'])
        || inside.contains("::")
        || inside.contains("//")
        || (inside.contains('.') && !inside.split('.').any(abbreviated))
}

/// What a text between two spaces consists of.
struct Pieces(Vec<Piece>);

enum Piece {
    /// A folded word; with a star at its end, the beginning of one.
    Word(String),
    /// A name, and the stems of its parts.
    Whole { name: String, parts: Vec<String> },
    /// Characters of a run without spaces.
    Run(Vec<String>),
}

impl Pieces {
    fn of(text: &str) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut whole_until = 0;
        each_word(text, |word| {
            let inside = word.place.start < whole_until;
            match (word.kind, pieces.last_mut()) {
                (Kind::Solid, Some(Piece::Run(run))) => run.push(word.folded.to_owned()),
                (Kind::Solid, _) => pieces.push(Piece::Run(vec![word.folded.to_owned()])),
                (Kind::Whole, Some(Piece::Whole { .. })) if inside => {}
                (Kind::Whole, _) => {
                    whole_until = word.place.end;
                    let name = word.folded.to_owned();
                    pieces.push(Piece::Whole { name, parts: Vec::new() });
                }
                (Kind::Plain, Some(Piece::Whole { parts, .. })) if inside => {
                    parts.push(stemmed(word.folded));
                }
                (Kind::Plain, _) => pieces.push(Piece::Word(with_star(text, &word))),
            }
            ControlFlow::Continue(())
        });
        Self(pieces)
    }
}

/// The word, and the star after it if it is more than a letter.
fn with_star(text: &str, word: &Word<'_>) -> String {
    let rest = text.get(word.place.end..).unwrap_or_default();
    let prefix = rest.starts_with('*') && word.folded.chars().count() > 1;
    format!("{}{}", word.folded, if prefix { "*" } else { "" })
}

fn stemmed(folded: &str) -> String {
    stem(folded, str::to_owned)
}

/// A piece of what was typed.
struct Part<'a> {
    kind: PartKind,
    field: Option<Field>,
    text: &'a str,
}

enum PartKind {
    Words,
    Quoted,
    Excluded,
    ExcludedQuoted,
}

/// Whether a text is too long to have been typed as a query: then what looks
/// like an operator is punctuation.
fn is_prose(text: &str) -> bool {
    text.split_whitespace().nth(LONGEST_QUERY).is_some()
}

fn words_of(text: &str) -> impl Iterator<Item = Part<'_>> {
    let words = text.split_whitespace();
    words.map(|text| Part { kind: PartKind::Words, field: None, text })
}

/// Takes the text apart into quoted pieces, exclusions and the rest.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, quoted, after)) = next_quoted(rest) {
        let (before, last) = match before.rsplit_once(char::is_whitespace) {
            Some((before, last)) => (before, last),
            None => ("", before),
        };
        spaced(before, &mut parts);
        let field = last.strip_suffix(':').and_then(Field::named);
        let kind = if last == "-" { PartKind::ExcludedQuoted } else { PartKind::Quoted };
        if field.is_none() && last != "-" {
            spaced(last, &mut parts);
        }
        parts.push(Part { kind, field, text: quoted });
        // What clings to the quote is a word, never an operator: `"Model C"-schools`.
        let end = after.find(|it: char| it.is_whitespace() || QUOTES.contains(&it));
        let (cling, after) = after.split_at_checked(end.unwrap_or(after.len())).unwrap_or_default();
        parts.extend(words_of(cling));
        rest = after;
    }
    spaced(rest, &mut parts);
    parts
}

/// The text before, inside and after the first pair of quotes.
fn next_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(QUOTES)?;
    let (inside, after) = rest.split_once(QUOTES)?;
    Some((before, inside, after))
}

/// Words, exclusions and fields, apart by spaces.
fn spaced<'a>(text: &'a str, parts: &mut Vec<Part<'a>>) {
    for word in text.split_whitespace() {
        if let Some(rest) =
            word.strip_prefix('-').filter(|it| it.starts_with(char::is_alphanumeric))
        {
            parts.push(Part { kind: PartKind::Excluded, field: None, text: rest });
            continue;
        }
        let named = word.split_once(':').and_then(|(name, rest)| Some((Field::named(name)?, rest)));
        let (field, text) = match named {
            Some((field, rest)) if rest.contains(char::is_alphanumeric) => (Some(field), rest),
            _ => (None, word),
        };
        parts.push(Part { kind: PartKind::Words, field, text });
    }
}

/// All words of a text, next to each other.
fn phrase(text: &str, token: impl Fn(&str) -> String) -> Option<Phrase> {
    let mut found = Phrase::default();
    let mut signs_until = 0;
    each_word(text, |word| {
        let signs = word.kind == Kind::Whole && fold_word(word.folded) != word.folded;
        if signs {
            signs_until = word.place.end;
        }
        // Of `C++` the whole counts, of `fooBar` the parts.
        if signs || (word.kind != Kind::Whole && word.place.start >= signs_until) {
            found.tokens.push(token(word.folded));
            found.prefix = with_star(text, &word).ends_with('*');
        }
        let more = found.tokens.len() < MOST_PHRASES;
        if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if found.prefix && found.tokens.len() == 1 {
        found.tokens = vec![fold_word(text)];
    }
    found.prefix &= found.tokens.len() == 1;
    (!found.tokens.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Column;

    fn expression(text: &str) -> String {
        FtsQuery::parse(text).expression()
    }

    #[test]
    fn any_word_may_match_and_stop_words_do_not_count() {
        assert_eq!(expression("How do I knead the dough?"), r#"("knead" OR "dough")"#);
        assert_eq!(
            expression("to be or not to be"),
            r#"("to" OR "to" OR "be" OR "be" OR "or" OR "not")"#
        );
        assert_eq!(
            expression("Wie heißt der König von Spanien?"),
            r#"("heisst" OR "konig" OR "spanien")"#
        );
        assert_eq!(expression("die hard"), r#"("die" OR "hard")"#);
    }

    #[test]
    fn operators_are_read_as_words() {
        assert_eq!(expression("king AND"), r#"("king")"#);
        assert_eq!(expression("OR"), r#"("or")"#);
        assert_eq!(expression("a:b"), r#"("b")"#);
        assert_eq!(expression("NEAR(x, 5)"), r#"("near" OR "x" OR "5")"#);
        assert_eq!(expression("\"unbalanced"), r#"("unbalanc")"#);
    }

    #[test]
    fn names_are_looked_for_whole_and_in_parts() {
        assert_eq!(expression("foo-bar"), r#"("foo" OR "bar")"#);
        assert_eq!(expression("foo_bar"), r#"("foo" OR "bar" OR "foo bar")"#);
        assert_eq!(expression("readFiles"), r#"("readfil" OR "read file")"#);
        assert_eq!(expression("C++ R&D"), r#"("c++" OR "r" OR "r d")"#);
        assert_eq!(expression("v1.2.3"), r#"("v1" OR "2" OR "3" OR "v1 2 3")"#);
        assert_eq!(expression("don't panic"), r#"("panic")"#);
    }

    #[test]
    fn phrases_must_occur_as_written_and_exclusions_must_not() {
        assert_eq!(
            expression(r#""rye bread" starter -yeast"#),
            r#"("=rye =bread" AND ("=rye =bread" OR "starter")) NOT ("yeast")"#
        );
        assert_eq!(expression(r#""rye breads""#), r#""=rye =breads""#);
        assert_eq!(expression("-yeast"), r#"("yeast")"#);
        assert_eq!(expression(r#"bread -"baking soda""#), r#"(("bread")) NOT ("=baking =soda")"#);
        assert_eq!(expression("„Model C“-Schulen"), r#""=model c" AND ("=model c" OR "schulen")"#);
        assert_eq!(expression(r#""C++ readFiles""#), r#""c++ =read =files""#);
    }

    #[test]
    fn a_prefix_matches_words_and_inflected_words() {
        assert_eq!(expression("Knead* dough"), r#"(("knead" * OR "=knead" *) OR "dough")"#);
        assert_eq!(expression("a* *"), r#"("a")"#);
    }

    #[test]
    fn a_field_that_is_named_must_match() {
        let columns = [
            Column { name: "title", field: Field::Title, weight: 1.0 },
            Column { name: "content", field: Field::Text, weight: 1.0 },
        ];
        let within = |text: &str| {
            let query = FtsQuery::parse(text);
            let phrase = query.phrases().next().cloned();
            (query.required(), phrase.and_then(|it| it.expression_in(&columns, &[])))
        };
        assert_eq!(within("title:Baking"), (1, Some(r#"{title} : ("bake")"#.to_owned())));
        assert_eq!(
            within(r#"body:"Baking it""#),
            (1, Some(r#"{content} : ("=baking it")"#.to_owned()))
        );
        assert_eq!(
            within("name:knead*"),
            (1, Some(r#"{title} : (("knead" * OR "=knead" *))"#.to_owned()))
        );
        assert_eq!(within("tags:x"), (1, None));
        assert_eq!(within("recipe:x").0, 0);
    }

    #[test]
    fn a_run_without_spaces_matches_by_neighbours() {
        assert_eq!(expression("東京都"), r#"("東京" OR "京都")"#);
        assert_eq!(expression("水"), r#"("水")"#);
        assert_eq!(expression("\"東京都\""), r#""東 京 都""#);
    }

    #[test]
    fn nothing_to_look_for_is_empty() {
        for text in ["", "*", "  ", "🙂", "\"\"", "-", "\0", "()"] {
            assert!(FtsQuery::parse(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_query_looks_for_a_bounded_number_of_words() {
        let long: Vec<_> = (0..5_000).map(|number| format!("word{number}")).collect();
        assert_eq!(FtsQuery::parse(&long.join(" ")).any.len(), MOST_PHRASES);
        assert!(FtsQuery::parse(&long.join("-")).any.len() <= MOST_PHRASES);
    }

    #[test]
    fn fts5_accepts_whatever_was_typed() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        vademecum_fts5::register(&connection).unwrap();
        connection
            .execute_batch("CREATE VIRTUAL TABLE f USING fts5 (title, b, tokenize = 'vademecum')")
            .unwrap();
        let long = "lorem \"ipsum ".repeat(700);
        let awkward = [
            "don't",
            "C++",
            "foo-bar",
            "R&D",
            "http://a.b/c?x=1#y",
            "std::vec::Vec",
            "OR",
            "king AND",
            "\"unbalanced",
            "a:b",
            "title:",
            "title:x*",
            "title:\"\"",
            "東京",
            "x\0y",
            "NOT x",
            "-x -y",
            "^a",
            "ab*",
            "{a b}: c",
            "'",
            "=x",
            long.as_str(),
        ];
        for text in awkward {
            let query = FtsQuery::parse(text);
            let count = connection.query_row(
                "SELECT count(*) FROM f WHERE f MATCH ?1",
                [query.expression()],
                |row| row.get::<_, i64>(0),
            );
            assert!(query.is_empty() || count.is_ok(), "{text}: {query:?}: {count:?}");
        }
    }
}
