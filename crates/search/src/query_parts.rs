//! The parts of a search text: words, quoted phrases, exclusions and words with a field name.

use std::{iter, ops::ControlFlow};

use vademecum_fts5::{WordKind, for_each_word, is_emoji};
use vademecum_model::Field;

/// Maximum number of words beside quoted phrases that must occur. In a longer text they need not.
const MAX_WORDS_BESIDE_QUOTES: usize = 6;

/// Quotation marks that delimit a phrase.
const QUOTE_CHARS: [char; 4] = ['"', '“', '”', '„'];

/// Maximum number of words in a query. A longer text is treated as prose without operators.
const MAX_QUERY_WORDS: usize = 32;

/// Maximum number of words in a query in which a minus can exclude the last ones.
const MAX_WORDS_WITH_MINUS: usize = 8;

/// Minimum length of a word that a minus excludes, in ASCII characters. Shorter ones are flags of
/// programs, such as `-l` and `-rf`.
const MIN_EXCLUDED_CHARS: usize = 3;

/// Signs that flags of programs have, but words do not.
const FLAG_SIGNS: [char; 9] = ['=', '/', ':', '_', '\\', '$', '@', '<', '|'];

/// A part of the search text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryPart<'a> {
    pub(crate) kind: QueryPartKind,
    pub(crate) field: Option<Field>,
    pub(crate) text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryPartKind {
    Words,
    /// A word with a minus, or a `NOT`, that is no operator.
    PlainSign,
    /// A phrase that must occur.
    Quoted,
    /// A phrase in a long question, which need not occur.
    OptionalQuoted,
    /// A phrase that need not occur because it occurs nowhere.
    LoosenedQuoted,
    /// A word after `NOT`.
    Excluded,
    /// A word after a minus.
    ExcludedByMinus,
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
    let is_word = |kind| matches!(kind, QueryPartKind::Words | QueryPartKind::PlainSign);
    for part in parts.iter().filter(|part| is_word(part.kind)) {
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
    if !minus_can_exclude(text, &parts) {
        for part in &mut parts {
            if part.kind == QueryPartKind::ExcludedByMinus {
                part.kind = QueryPartKind::PlainSign;
            }
        }
    }
    parts
}

/// Returns whether a minus excludes words: only the last ones of a short query that is no question,
/// and if none of them can be a flag of a program.
fn minus_can_exclude(text: &str, parts: &[QueryPart<'_>]) -> bool {
    let by_minus = |part: &&QueryPart<'_>| part.kind == QueryPartKind::ExcludedByMinus;
    let at_end = parts.iter().rev().take_while(by_minus).count();
    at_end == parts.iter().filter(by_minus).count()
        && text.split_whitespace().nth(MAX_WORDS_WITH_MINUS).is_none()
        && !text.trim_end().ends_with(['?', '？', '؟'])
        && !text.split_whitespace().any(|word| word.starts_with("--"))
        && parts.iter().filter(by_minus).all(|part| !is_flag(part.text))
}

/// Returns whether the word after a minus can only be a flag of a program or a number.
fn is_flag(word: &str) -> bool {
    let is_number = word.starts_with(char::is_numeric);
    let shortest = MIN_EXCLUDED_CHARS + usize::from(is_number);
    (word.is_ascii() && word.len() < shortest) || word.contains(FLAG_SIGNS)
}

/// Returns whether a word is written in capitals, as in `IS NOT NULL`.
fn is_in_capitals(word: &&str) -> bool {
    let mut letters = word.chars().filter(|letter| letter.is_alphabetic());
    letters.clone().nth(1).is_some() && letters.all(char::is_uppercase)
}

/// Returns the quoted parts of a text.
pub(crate) fn quoted_texts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let (_, quoted, after) = split_at_quotes(rest)?;
        rest = after;
        Some(quoted)
    })
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
    let mut before = None;
    while let Some(word) = words.next() {
        let previous = before.replace(word);
        if word == "NOT"
            && [previous.as_ref(), words.peek()].into_iter().flatten().any(is_in_capitals)
        {
            parts.push(QueryPart { kind: QueryPartKind::PlainSign, field: None, text: word });
            continue;
        }
        if let Some(text) = (word == "NOT").then(|| words.next()).flatten() {
            before = Some(text);
            parts.push(QueryPart { kind: QueryPartKind::Excluded, field: None, text });
            continue;
        }
        if let Some(text) = word.strip_prefix('-').filter(|it| it.starts_with(begins_word)) {
            parts.push(QueryPart { kind: QueryPartKind::ExcludedByMinus, field: None, text });
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
