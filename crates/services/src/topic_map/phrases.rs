//! Phrases: a term with the adjacent terms that it mostly occurs with, as it is mostly written.
//!
//! This makes `boundary layer` of `layer`, and words of the pairs of characters of Chinese.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    number::to_f64,
    terms::{ItemTerms, Term, TermIndex},
};

/// Minimum share of the items with a phrase in which an adjacent term follows or precedes it.
const MIN_SHARE: f64 = 0.6;
/// Minimum number of items with a phrase of several terms.
const MIN_ITEMS: usize = 2;
/// Maximum number of terms of a phrase. Pairs of characters overlap, so six characters have five.
const MAX_WORDS: usize = 3;
const MAX_PAIRS: usize = 5;
/// Maximum length of a phrase, in characters.
const MAX_CHARS: usize = 32;

/// A phrase with its terms.
#[derive(Debug, PartialEq)]
pub(super) struct Phrase {
    pub(super) terms: BTreeSet<Term>,
    pub(super) written: String,
}

/// Place of a phrase in an item: the indices of its first and last occurrences.
type Place<'t> = (&'t ItemTerms, usize, usize);

/// Direction in which a phrase grows.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Phrase {
    /// Returns the phrase around a term in some items.
    pub(super) fn around(term: Term, index: &TermIndex, items: &[usize]) -> Option<Self> {
        let items = items.iter().filter_map(|item| index.items.get(*item));
        let mut occurrences: Vec<Place<'_>> = items
            .flat_map(|item| {
                let found = item.occurrences.iter().enumerate();
                found.filter(|(_, it)| it.term == term).map(move |(at, _)| (item, at, at))
            })
            .collect();
        for side in [Side::Before, Side::After] {
            while let Some(longer) = grow(&occurrences, side) {
                occurrences = longer;
            }
        }
        let terms = occurrences.first().map(|(item, first, last)| {
            let found = item.occurrences.get(*first..=*last).unwrap_or_default();
            found.iter().map(|it| it.term).collect()
        })?;
        Some(Self { terms, written: most_frequent(occurrences.iter().filter_map(written))? })
    }
}

fn written<'t>((item, first, last): &Place<'t>) -> Option<&'t str> {
    item.written(*first, *last)
}

/// Returns the places at which the most frequent neighbour of a phrase is next to it, or `None` if it
/// is there too rarely.
fn grow<'t>(occurrences: &[Place<'t>], side: Side) -> Option<Vec<Place<'t>>> {
    let (_, first, last) = occurrences.first()?;
    if last - first + 1 >= max_terms(occurrences) {
        return None;
    }
    let mut longer: BTreeMap<Term, Vec<Place<'t>>> = BTreeMap::new();
    for (item, first, last) in occurrences.iter().copied() {
        let (term, place) = match side {
            Side::After => (item.next_in_phrase(last), (item, first, last + 1)),
            Side::Before => {
                let Some(before) = first.checked_sub(1) else { continue };
                let next_to = item.next_in_phrase(before);
                let term = next_to.and_then(|_| item.occurrences.get(before));
                (term, (item, before, last))
            }
        };
        let Some(term) = term else { continue };
        longer.entry(term.term).or_default().push(place);
    }
    let now = count_items(occurrences);
    let best = longer.into_values().max_by_key(|occurrences| count_items(occurrences))?;
    let share = to_f64(count_items(&best)) / to_f64(now);
    let is_short = best.first().and_then(written).is_some_and(|it| it.chars().count() <= MAX_CHARS);
    (count_items(&best) >= MIN_ITEMS && share >= MIN_SHARE && is_short).then_some(best)
}

fn max_terms(occurrences: &[Place<'_>]) -> usize {
    let is_pair = |text: &str| !text.is_ascii() && text.chars().count() == 2;
    let is_unspaced = occurrences
        .first()
        .is_some_and(|(item, first, _)| item.written(*first, *first).is_some_and(is_pair));
    if is_unspaced { MAX_PAIRS } else { MAX_WORDS }
}

fn count_items(occurrences: &[Place<'_>]) -> usize {
    // The places of an item are adjacent.
    occurrences.chunk_by(|one, other| std::ptr::eq(one.0, other.0)).count()
}

/// Returns the most frequent spelling, with spaces as in a text; of equally frequent ones, one in
/// lowercase.
fn most_frequent<'t>(spellings: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for spelling in spellings {
        *counts.entry(spelling).or_default() += 1;
    }
    let best = counts.into_iter().max_by_key(|(spelling, count)| (*count, *spelling));
    best.map(|(spelling, _)| spelling.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::{super::map_input::MapInput, *};

    fn phrase(texts: &[&str], number: usize) -> String {
        let inputs: Vec<MapInput> = texts.iter().map(|text| MapInput::for_test("", text)).collect();
        let index = TermIndex::new(&inputs);
        let items: Vec<usize> = (0..texts.len()).collect();
        let term = index.items[0].occurrences[number].term;
        Phrase::around(term, &index, &items).unwrap().written
    }

    #[test]
    fn phrase_has_words_that_occur_together() {
        let texts = ["Laminar boundary layer", "Boundary layers", "boundary layer, heat", "layer"];
        assert_eq!(phrase(&texts, 1), "boundary layer");
        assert_eq!(phrase(&texts, 2), "boundary layer");
        assert_eq!(phrase(&["laminar flow", "flow", "turbulent flow"], 1), "flow");
    }

    #[test]
    fn pairs_of_characters_grow_into_words() {
        assert_eq!(phrase(&["图书馆员", "图书馆", "去图书馆的路"], 1), "图书馆");
    }
}
