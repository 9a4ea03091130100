//! What was asked for, as an expression that FTS5 always accepts.
//!
//! Any word may match, best first; a natural question is the normal query.
//! `"phrases"` must occur and `-words` must not. Everything else that looks
//! like an operator is read as words.

use std::ops::ControlFlow;

use super::{
    stop_words::is_stop_word,
    words::{each_word, with_stem},
};

/// Words that one query looks for at most: beyond that, more words cost time
/// and change nothing about what comes first.
const MOST_PHRASES: usize = 64;

/// Folded words that must stand next to each other.
pub(crate) type Phrase = Vec<String>;

/// A match expression that FTS5 will always accept.
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
        let mut stop_words = Vec::new();
        for part in parts(text) {
            match part {
                Part::Words(words) => query.add_words(words, &mut stop_words),
                Part::Quoted(words) => query.required.extend(phrase(words)),
                Part::Excluded(words) => query.excluded.extend(phrase(words)),
            }
        }
        if query.any.is_empty() && query.required.is_empty() {
            // Only stop words, or only exclusions: then these are meant.
            query.any = stop_words;
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

    /// The expression over all columns.
    pub fn expression(&self) -> String {
        let mut wanted: Vec<String> = self.required.iter().map(quoted).collect();
        let scored: Vec<String> = self.required.iter().chain(&self.any).map(quoted).collect();
        if !self.any.is_empty() {
            wanted.push(format!("({})", scored.join(" OR ")));
        }
        let wanted = wanted.join(" AND ");
        if self.excluded.is_empty() {
            return wanted;
        }
        let excluded: Vec<String> = self.excluded.iter().map(quoted).collect();
        format!("({wanted}) NOT ({})", excluded.join(" OR "))
    }

    /// The expression over some columns, which are names of our own tables.
    pub fn expression_in(&self, columns: &[&'static str]) -> String {
        if columns.is_empty() {
            return self.expression();
        }
        format!("{{{}}} : ({})", columns.join(" "), self.expression())
    }

    /// Every phrase that a match may contain. Weights come in this order.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = &Phrase> {
        self.required.iter().chain(&self.any)
    }

    fn add_words(&mut self, text: &str, stop_words: &mut Vec<Phrase>) {
        let mut run = Vec::new();
        each_word(text, |word| {
            if word.solid {
                run.push(word.folded.to_owned());
                return ControlFlow::Continue(());
            }
            self.add_run(&mut run);
            let stem = with_stem(word.folded, str::to_owned);
            let list = if is_stop_word(word.folded) { &mut *stop_words } else { &mut self.any };
            list.push(vec![stem]);
            ControlFlow::Continue(())
        });
        self.add_run(&mut run);
    }

    /// A run without spaces matches by any two neighbours in it.
    fn add_run(&mut self, run: &mut Vec<String>) {
        match run.as_slice() {
            [] => {}
            [single] => self.any.push(vec![single.clone()]),
            several => self.any.extend(several.windows(2).map(<[String]>::to_vec)),
        }
        run.clear();
    }

    fn trim(&mut self) {
        for phrases in [&mut self.required, &mut self.any, &mut self.excluded] {
            let mut seen = std::collections::HashSet::new();
            phrases.retain(|phrase| seen.insert(phrase.clone()));
            phrases.truncate(MOST_PHRASES);
        }
    }
}

/// A piece of what was typed.
enum Part<'a> {
    Words(&'a str),
    Quoted(&'a str),
    Excluded(&'a str),
}

/// Takes the text apart into quoted pieces, exclusions and the rest.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, quoted, after)) = next_quoted(rest) {
        let is_apart = |kept: &&str| kept.is_empty() || kept.ends_with(char::is_whitespace);
        if let Some(kept) = before.strip_suffix('-').filter(is_apart) {
            exclusions(kept, &mut parts);
            parts.push(Part::Excluded(quoted));
        } else {
            exclusions(before, &mut parts);
            parts.push(Part::Quoted(quoted));
        }
        rest = after;
    }
    exclusions(rest, &mut parts);
    parts
}

/// The text before, inside and after the first pair of quotes.
fn next_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(['"', '“', '”'])?;
    let (inside, after) = rest.split_once(['"', '“', '”'])?;
    Some((before, inside, after))
}

fn exclusions<'a>(text: &'a str, parts: &mut Vec<Part<'a>>) {
    for word in text.split_whitespace() {
        match word.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphanumeric)) {
            Some(rest) => parts.push(Part::Excluded(rest)),
            None => parts.push(Part::Words(word)),
        }
    }
}

/// All words of a quoted text, next to each other.
fn phrase(text: &str) -> Option<Phrase> {
    let mut words = Vec::new();
    each_word(text, |word| {
        words.push(with_stem(word.folded, str::to_owned));
        if words.len() < MOST_PHRASES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    (!words.is_empty()).then_some(words)
}

/// Folded words hold no quotes, so none needs to be doubled.
fn quoted(phrase: &Phrase) -> String {
    format!("\"{}\"", phrase.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        FtsQuery::parse(text).expression()
    }

    #[test]
    fn any_word_may_match_and_stop_words_do_not_count() {
        assert_eq!(expression("How do I knead the dough?"), r#"("knead" OR "dough")"#);
        assert_eq!(expression("to be or not to be"), r#"("to" OR "be" OR "or" OR "not")"#);
    }

    #[test]
    fn operators_are_read_as_words() {
        assert_eq!(expression("king AND"), r#"("king")"#);
        assert_eq!(expression("OR"), r#"("or")"#);
        assert_eq!(expression("a:b"), r#"("b")"#);
        assert_eq!(expression("NEAR(x, 5)"), r#"("near" OR "x" OR "5")"#);
        assert_eq!(expression("foo-bar std::vec::Vec"), r#"("foo" OR "bar" OR "std" OR "vec")"#);
        assert_eq!(expression("\"unbalanced"), r#"("unbalanc")"#);
    }

    #[test]
    fn phrases_must_occur_and_exclusions_must_not() {
        assert_eq!(
            expression(r#""rye bread" starter -yeast"#),
            r#"("rye bread" AND ("rye bread" OR "starter")) NOT ("yeast")"#
        );
        assert_eq!(expression(r#""rye bread""#), r#""rye bread""#);
        assert_eq!(expression("-yeast"), r#"("yeast")"#);
        assert_eq!(expression(r#"bread -"baking soda""#), r#"(("bread")) NOT ("bake soda")"#);
    }

    #[test]
    fn a_run_without_spaces_matches_by_neighbours() {
        assert_eq!(expression("東京都"), r#"("東 京" OR "京 都")"#);
        assert_eq!(expression("水"), r#"("水")"#);
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
    }

    #[test]
    fn fts5_accepts_whatever_was_typed() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE VIRTUAL TABLE f USING fts5 (a, b)").unwrap();
        let long = "lorem \"ipsum ".repeat(700);
        let awkward = [
            "don't",
            "C++",
            "foo-bar",
            "R&D",
            "http://a.b/c",
            "std::vec::Vec",
            "OR",
            "king AND",
            "\"unbalanced",
            "a:b",
            "東京",
            "x\0y",
            "NOT x",
            "-x -y",
            "^a",
            "a*",
            "{a b}: c",
            "'",
            long.as_str(),
        ];
        for text in awkward {
            let query = FtsQuery::parse(text);
            for expression in [query.expression(), query.expression_in(&["a"])] {
                let count = connection.query_row(
                    "SELECT count(*) FROM f WHERE f MATCH ?1",
                    [&expression],
                    |row| row.get::<_, i64>(0),
                );
                assert!(query.is_empty() || count.is_ok(), "{text}: {expression}: {count:?}");
            }
        }
    }
}
