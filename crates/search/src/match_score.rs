//! Scores that say how much of a question a match answers (`docs/adr/0080-scores-with-a-meaning.md`).
//!
//! BM25 scores of one search can be compared with each other, not with those of another search: a
//! question without any answer has a best match too. The strength of a search is the BM25 score of its
//! best match as a share of the weight of all words of the query, also of those that occur nowhere. It
//! separates answered from unanswered questions better than the score and better than the share of
//! words found.

use vademecum_model::{CorpusStatistics, to_f64};

use super::{FtsQuery, Phrase, QueryWord};

/// Score below which a search has found nothing that answers the query.
pub const SCORE_FLOOR: f64 = 0.5;
/// Strength at which the score is [`SCORE_FLOOR`].
const FLOOR_STRENGTH: f64 = 1.45;
/// Number of passages below which the rarity of a word says little.
const MIN_WEIGHED_PASSAGES: u64 = 100;
/// Maximum number of missing words that are named.
const MAX_MISSING_WORDS: usize = 8;

/// Phrases of a query, by their position in it. Only the first 64 can be members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhraseSet(u64);

impl PhraseSet {
    /// Adds the phrase at a position.
    pub fn insert(&mut self, position: usize) {
        if position < 64 {
            self.0 |= 1 << position;
        }
    }

    /// Returns the members that are also in another set.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the members that are not in another set.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the phrase at a position is a member.
    pub fn contains(self, position: usize) -> bool {
        position < 64 && self.0 & (1 << position) != 0
    }

    /// Returns whether no phrase is a member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The phrases of a query with their weights.
#[derive(Debug)]
pub struct QueryWeights<'q> {
    phrases: Vec<(&'q Phrase, f64)>,
    total: f64,
    /// Number of passages that are searched.
    passages: u64,
}

impl<'q> QueryWeights<'q> {
    /// Weighs the phrases by their rarity in everything that is searched, times their repetitions.
    pub fn new(query: &'q FtsQuery, statistics: &CorpusStatistics) -> Self {
        let weight = |(phrase, weight): (&'q Phrase, f64)| {
            (phrase, weight * to_f64(phrase.repetitions as u64))
        };
        let phrases: Vec<_> =
            query.phrases().zip(statistics.phrase_weights()).map(weight).collect();
        let total = phrases.iter().map(|(_, weight)| weight).sum();
        Self { phrases, total, passages: statistics.rows }
    }

    /// Returns the share of the weight that some phrases have, from 0 to 1.
    pub fn share(&self, members: PhraseSet) -> f64 {
        let weights = self.phrases.iter().zip(0..);
        let weights = weights.filter(|(_, position)| members.contains(*position));
        let sum: f64 = weights.map(|((_, weight), _)| weight).sum();
        if self.total > 0.0 { sum / self.total } else { 0.0 }
    }

    /// Returns the BM25 score of a passage of average length that has some phrases once.
    pub fn bm25_once(&self, members: PhraseSet) -> f64 {
        self.share(members) * self.total
    }

    /// Returns the score, 0 to 1, of the best match of a search from its BM25 score: the square of the
    /// strength `score / weight · √phrases`, saturated. A match that has all words scores at least
    /// [`SCORE_FLOOR`]. Among few passages, it is the share of the
    /// words, because the rarity of a word says little there.
    pub fn score(&self, bm25: f64, missing: PhraseSet) -> f64 {
        if self.total <= 0.0 {
            return 1.0;
        }
        if self.passages < MIN_WEIGHED_PASSAGES {
            let absent = (0..self.phrases.len()).filter(|phrase| missing.contains(*phrase)).count();
            return 1.0 - to_f64(absent as u64) / to_f64(self.phrases.len() as u64);
        }
        let strength = bm25 / self.total * to_f64(self.phrases.len() as u64).sqrt();
        let square = strength * strength;
        let score = square / (square + FLOOR_STRENGTH * FLOOR_STRENGTH);
        if missing.is_empty() { score.max(SCORE_FLOOR) } else { score }
    }

    /// Returns the words among some phrases, as typed, at most eight. Phrases of several words are not
    /// among them.
    pub fn words(&self, members: PhraseSet) -> Vec<String> {
        let missing = self.phrases.iter().zip(0..);
        let missing = missing.filter(|(_, position)| members.contains(*position));
        let words = missing.filter_map(|((phrase, _), _)| typed_word(phrase));
        words.take(MAX_MISSING_WORDS).map(str::to_owned).collect()
    }
}

/// Returns the word of a phrase, if it is a single one.
pub(crate) fn typed_word(phrase: &Phrase) -> Option<&str> {
    match phrase.words.as_slice() {
        [QueryWord::Inflected(word)] => word.typed.first().map(super::TypedWord::written),
        [QueryWord::Exact(token)] => Some(token.trim_start_matches('=')),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(rows: u64, frequencies: &[u64]) -> CorpusStatistics {
        CorpusStatistics { rows, tokens: rows * 100, document_frequencies: frequencies.to_vec() }
    }

    fn set(positions: &[usize]) -> PhraseSet {
        let mut set = PhraseSet::default();
        for position in positions {
            set.insert(*position);
        }
        set
    }

    #[test]
    fn words_that_occur_nowhere_lower_the_score() {
        let query = FtsQuery::parse("rye bread kvass");
        let known = QueryWeights::new(&query, &statistics(1_000, &[10, 10, 10]));
        let unknown = QueryWeights::new(&query, &statistics(1_000, &[10, 10, 0]));
        let (all, two) = (known.score(10.0, set(&[2])), unknown.score(10.0, set(&[2])));
        assert!(two < all && (0.0..=1.0).contains(&two), "{two} {all}");
        assert_eq!(unknown.words(set(&[0, 2])), ["rye", "kvass"]);
        assert!((known.share(set(&[0])) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn match_with_all_words_reaches_the_floor() {
        let query = FtsQuery::parse("bread");
        let weights = QueryWeights::new(&query, &statistics(400, &[300]));
        let complete = weights.score(1e-9, PhraseSet::default());
        assert!((SCORE_FLOOR..1.0).contains(&complete), "{complete}");
        assert!(weights.score(1e-9, set(&[0])) < SCORE_FLOOR);
        let nothing = FtsQuery::default();
        assert_eq!(QueryWeights::new(&nothing, &statistics(400, &[])).score(0.0, set(&[])), 1.0);
    }

    #[test]
    fn words_are_counted_among_few_passages() {
        let query = FtsQuery::parse("rye bread kvass");
        let weights = QueryWeights::new(&query, &statistics(4, &[3, 3, 0]));
        assert_eq!(weights.score(1e-6, PhraseSet::default()), 1.0);
        assert!((weights.score(1e-6, set(&[2])) - 2.0 / 3.0).abs() < 1e-12);
        assert!(weights.score(1e-6, set(&[1, 2])) < SCORE_FLOOR);
    }

    #[test]
    fn set_has_the_first_64_phrases() {
        let some = set(&[0, 63, 64, 200]);
        assert!(some.contains(0) && some.contains(63) && !some.contains(64) && !some.contains(1));
        assert!(!some.is_empty() && PhraseSet::default().is_empty());
    }
}
