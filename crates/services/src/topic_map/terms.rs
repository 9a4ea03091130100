//! Terms of the items: content words with their weights (TF-IDF).

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use vademecum_search::content_words;

use super::{map_input::MapInput, number::to_f64};

/// Maximum number of terms by which an item is compared: those with the highest weights.
const MAX_ITEM_TERMS: usize = 48;
/// Weight of an occurrence in a title or tag. One in the text has weight 1.
const NAME_WEIGHT: f64 = 3.0;
/// Minimum number of items for which terms of more than half of them are ignored.
const MIN_ITEMS_WITH_COMMON_TERMS: usize = 8;

/// Number of a term.
pub(super) type Term = usize;

/// Terms of all items.
#[derive(Debug)]
pub(super) struct TermIndex {
    /// Terms of each item.
    pub(super) items: Vec<ItemTerms>,
    /// Number of items with each term.
    document_counts: Vec<usize>,
}

/// Terms of an item, with the weights by which items are compared.
#[derive(Debug)]
pub(super) struct ItemTerms {
    /// Title, tags and the beginning of the text, each on lines of its own.
    text: String,
    /// Terms in the order of the text.
    pub(super) occurrences: Vec<Occurrence>,
    /// Weights of the terms by which the item is compared. Their squares add up to 1.
    pub(super) weights: Vec<(Term, f64)>,
}

/// Term in a text.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) term: Term,
    range: Range<usize>,
    /// Whether it is in the title or a tag.
    is_in_name: bool,
}

impl TermIndex {
    /// Reads the terms of items.
    pub(super) fn new(inputs: &[MapInput]) -> Self {
        let mut known = HashMap::new();
        let mut items: Vec<ItemTerms> =
            inputs.iter().map(|input| ItemTerms::read(input, &mut known)).collect();
        let mut document_counts = vec![0; known.len()];
        for term in items.iter().flat_map(|item| item.frequencies().into_keys()) {
            if let Some(count) = document_counts.get_mut(term) {
                *count += 1;
            }
        }
        let total = items.len();
        for item in &mut items {
            item.weigh_terms(&document_counts, total);
        }
        Self { items, document_counts }
    }

    /// Returns the number of items with a term.
    pub(super) fn document_count(&self, term: Term) -> usize {
        self.document_counts.get(term).copied().unwrap_or(0)
    }

    /// Returns the number of terms.
    pub(super) fn term_count(&self) -> usize {
        self.document_counts.len()
    }
}

impl ItemTerms {
    fn read(input: &MapInput, known: &mut HashMap<String, Term>) -> Self {
        let mut text = format!("{}\n{}\n", input.title, input.tags.join("\n"));
        let name_end = text.len();
        text.push_str(&input.text);
        let mut occurrences = Vec::new();
        for word in content_words(&text) {
            let next = known.len();
            occurrences.push(Occurrence {
                term: *known.entry(word.stem).or_insert(next),
                is_in_name: word.range.start < name_end,
                range: word.range,
            });
        }
        Self { text, occurrences, weights: Vec::new() }
    }

    /// Returns the weighted number of occurrences of each term.
    fn frequencies(&self) -> BTreeMap<Term, f64> {
        let mut frequencies = BTreeMap::new();
        for found in &self.occurrences {
            let weight = if found.is_in_name { NAME_WEIGHT } else { 1.0 };
            *frequencies.entry(found.term).or_default() += weight;
        }
        frequencies
    }

    /// Returns each term once, and whether it is in the title or a tag.
    pub(super) fn terms(&self) -> BTreeMap<Term, bool> {
        let mut terms = BTreeMap::new();
        for found in &self.occurrences {
            *terms.entry(found.term).or_default() |= found.is_in_name;
        }
        terms
    }

    fn weigh_terms(&mut self, document_counts: &[usize], total: usize) {
        let ignores_common = total >= MIN_ITEMS_WITH_COMMON_TERMS;
        let weigh = |(term, frequency): (Term, f64)| {
            let count = document_counts.get(term).copied().unwrap_or(0);
            // A term of one item is similar to nothing.
            let is_compared = count > 1 && !(ignores_common && count > total / 2);
            let rarity = (to_f64(total) / to_f64(count)).ln_1p();
            is_compared.then(|| (term, (1.0 + frequency.ln()) * rarity))
        };
        let mut weights: Vec<_> = self.frequencies().into_iter().filter_map(weigh).collect();
        weights.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        weights.truncate(MAX_ITEM_TERMS);
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        for (_, weight) in &mut weights {
            *weight /= length;
        }
        self.weights = weights;
    }

    /// Returns the occurrence after the one at `index`, if both may belong to one phrase.
    pub(super) fn next_in_phrase(&self, index: usize) -> Option<&Occurrence> {
        let (one, next) = (self.occurrences.get(index)?, self.occurrences.get(index + 1)?);
        let is_adjacent = next.range.start < one.range.end
            || matches!(self.text.get(one.range.end..next.range.start)?, "" | " " | "-" | "_");
        is_adjacent.then_some(next)
    }

    /// Returns the text from one occurrence to another.
    pub(super) fn written(&self, first: usize, last: usize) -> Option<&str> {
        let start = self.occurrences.get(first)?.range.start;
        self.text.get(start..self.occurrences.get(last)?.range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(items: &[(&str, &str)]) -> TermIndex {
        let inputs: Vec<MapInput> =
            items.iter().map(|(title, text)| MapInput::for_test(title, text)).collect();
        TermIndex::new(&inputs)
    }

    #[test]
    fn terms_are_weighted_by_rarity_and_place() {
        let index = index(&[
            ("Sourdough", "flour water"),
            ("Sourdough", "flour water"),
            ("Rust", "flour compiler"),
        ]);
        let [first, _, third] = index.items.as_slice() else { panic!() };
        let terms: Vec<Term> = first.weights.iter().map(|(term, _)| *term).collect();
        // In the order of the weights: the rare word of the title, the rare word, the common word.
        assert_eq!(terms, [0, 2, 1]);
        assert_eq!(third.weights, [(1, 1.0)]);
        assert_eq!((index.term_count(), index.document_count(1)), (5, 3));
    }

    #[test]
    fn phrases_are_adjacent_words_of_one_line() {
        let index = index(&[("Heat transfer", "boundary layer, flow")]);
        let item = &index.items[0];
        assert!(item.next_in_phrase(0).is_some() && item.next_in_phrase(1).is_none());
        assert!(item.next_in_phrase(3).is_none());
        assert_eq!(item.written(2, 3), Some("boundary layer"));
    }
}
