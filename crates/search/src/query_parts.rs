//! The parts of a search text: words, quoted phrases, exclusions and words with a field name.

use std::ops::ControlFlow;

use vademecum_fts5::{WordKind, for_each_word, is_emoji};
use vademecum_model::Field;

/// Maximum number of words beside quoted phrases that must occur. In a longer text they need not.
const MAX_WORDS_BESIDE_QUOTES: usize = 6;

/// Quotation marks that delimit a phrase.
const QUOTE_CHARS: [char; 4] = ['"', '“', '”', '„'];

/// Maximum number of words in a query. A longer text is treated as prose without operators.
const MAX_QUERY_WORDS: usize = 32;

/// A part of the search text.
pub(crate) struct QueryPart<'a> {
    pub(crate) kind: QueryPartKind,
    pub(crate) field: Option<Field>,
    pub(crate) text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryPartKind {
    Words,
    Quoted,
    Excluded,
    ExcludedQuoted,
}

/// Returns whether a text is too long to be a typed query. Its operators are then treated as
/// punctuation.
pub(crate) fn is_prose(text: &str) -> bool {
    text.split_whitespace().nth(MAX_QUERY_WORDS).is_some()
}

/// Returns whether quoted phrases stand in a long question. A character of a script without spaces
/// counts as half a word.
pub(crate) fn is_question(parts: &[QueryPart<'_>]) -> bool {
    let mut half_words = 0;
    for part in parts.iter().filter(|part| part.kind == QueryPartKind::Words) {
        for_each_word(part.text, |word| {
            half_words += if word.kind == WordKind::Unspaced { 1 } else { 2 };
            ControlFlow::Continue(())
        });
    }
    half_words > 2 * MAX_WORDS_BESIDE_QUOTES
}

pub(crate) fn split_plain_words(text: &str) -> impl Iterator<Item = QueryPart<'_>> {
    let words = text.split_whitespace();
    words.map(|text| QueryPart { kind: QueryPartKind::Words, field: None, text })
}

/// Splits the text into quoted parts, exclusions and words.
pub(crate) fn split_parts(text: &str) -> Vec<QueryPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, quoted, after)) = split_at_quotes(rest) {
        let (before, last) = match before.rsplit_once(char::is_whitespace) {
            Some((before, last)) => (before, last),
            None => ("", before),
        };
        parse_unquoted(before, &mut parts);
        let field = last.strip_suffix(':').and_then(Field::from_name);
        let kind = if last == "-" { QueryPartKind::ExcludedQuoted } else { QueryPartKind::Quoted };
        if field.is_none() && last != "-" {
            parse_unquoted(last, &mut parts);
        }
        parts.push(QueryPart { kind, field, text: quoted });
        // Text adjacent to a closing quote is a word, never an operator: `"Model C"-schools`.
        let end = after.find(|it: char| it.is_whitespace() || QUOTE_CHARS.contains(&it));
        let (cling, after) = after.split_at_checked(end.unwrap_or(after.len())).unwrap_or_default();
        parts.extend(split_plain_words(cling));
        rest = after;
    }
    parse_unquoted(rest, &mut parts);
    parts
}

/// Splits the text at the first pair of quotes into the text before, inside and after.
fn split_at_quotes(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(QUOTE_CHARS)?;
    let (inside, after) = rest.split_once(QUOTE_CHARS)?;
    Some((before, inside, after))
}

/// Parses space-separated words, exclusions and field names.
fn parse_unquoted<'a>(text: &'a str, parts: &mut Vec<QueryPart<'a>>) {
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if let Some(text) = (word == "NOT").then(|| words.next()).flatten() {
            parts.push(QueryPart { kind: QueryPartKind::Excluded, field: None, text });
            continue;
        }
        if let Some(rest) = word.strip_prefix('-').filter(|it| it.starts_with(begins_word)) {
            parts.push(QueryPart { kind: QueryPartKind::Excluded, field: None, text: rest });
            continue;
        }
        let named =
            word.split_once(':').and_then(|(name, rest)| Some((Field::from_name(name)?, rest)));
        let (field, text) = match named {
            Some((field, rest)) if rest.contains(begins_word) => (Some(field), rest),
            _ => (None, word),
        };
        parts.push(QueryPart { kind: QueryPartKind::Words, field, text });
    }
}

fn begins_word(letter: char) -> bool {
    letter.is_alphanumeric() || is_emoji(letter)
}
