//! Matches that the query names: by their title (`docs/adr/0008-one-ranking.md`), by the sender of a
//! message, or by their date.
//!
//! A search for a title means the item of that name, but a longer text that repeats the words has a
//! higher BM25 score. The sources compare titles, senders and dates of their best matches with the
//! query; the scores are raised after the sources are merged, so they do not depend on the page.

use std::{
    cmp::Ordering,
    collections::HashMap,
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
};

use vademecum_fts5::for_each_word;
use vademecum_model::{SourceName, Timestamp, Uri, to_f64};

use super::{
    FtsQuery, PhraseSet, QueryDates, QueryWeights, match_score::typed_word, phrase::word_key,
};
use crate::RankedMatch;

/// Maximum number of words in a query that may be a title.
const MAX_TITLE_WORDS: usize = 16;
/// Maximum number of other words in a title that is nearly the query.
const MAX_OTHER_WORDS: usize = 2;
/// Added to the score of a match of which the title is the query; more than any other match has.
const EXACT_BONUS: f64 = 1.0;
/// Added if the title has the words of the query in order, times the share of them in the title.
const NEAR_BONUS: f64 = 0.5;
/// Added if the title has all words of the query in any order; the share of their weight for some.
const COVERAGE_BONUS: f64 = 0.1;
/// Added to the score of a message whose sender the query names among other words.
const SENDER_BONUS: f64 = 0.2;
/// Factor of the score of each further message of a conversation in a search of several sources.
const FURTHER_MESSAGE: f64 = 0.5;

/// A word of the query.
#[derive(Clone, Debug)]
struct TitleWord {
    folded: String,
    /// The stem, which other forms of the word share.
    key: String,
}

/// Titles and senders of the first matches, compared with a query.
#[derive(Debug)]
pub struct NamedMatches {
    /// The query as a title; none if it cannot be one.
    words: Vec<TitleWord>,
    /// The folded words without spaces.
    letters: String,
    /// What forms of the phrases of the query have in common, of those that are a word.
    keys: Vec<Option<String>>,
    /// The date that the query names, and the phrases that name it.
    dates: Option<(QueryDates, PhraseSet)>,
    found: Mutex<HashMap<Uri, NamedMatch>>,
}

/// A title and a sender, compared with a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct NamedMatch {
    /// Bonus of a title that is the query, exactly or nearly.
    bonus: f64,
    /// Phrases of the query in the title.
    phrases: PhraseSet,
    /// Whether the query names the sender, and has other words.
    is_named_sender: bool,
    /// Whether it is of the time that the query names.
    is_dated: bool,
}

impl NamedMatches {
    /// Number of matches, best first, of which the titles are compared.
    pub const CANDIDATES: usize = 50;

    /// Returns the comparison for a query.
    pub fn new(query: &FtsQuery) -> Self {
        let mut words = Vec::new();
        for_each_whole_word(query.typed(), |word| {
            words.push(TitleWord { folded: word.to_owned(), key: word_key(word) });
            if words.len() <= MAX_TITLE_WORDS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let may_be_title =
            (1..=MAX_TITLE_WORDS).contains(&words.len()) && query.excluded().is_empty();
        if !may_be_title {
            words.clear();
        }
        let letters = words.iter().map(|word| word.folded.as_str()).collect();
        let keys: Vec<Option<String>> =
            query.phrases().map(|phrase| typed_word(phrase).map(word_key)).collect();
        let dates = QueryDates::find(query.typed(), Timestamp::now()).map(|dates| {
            let text = dates.words.join(" ");
            let phrases = phrases_in(&keys, &text);
            (dates, phrases)
        });
        Self { words, letters, keys, dates, found: Mutex::default() }
    }

    /// Returns the date that the query names. Matches of that time come first.
    pub fn dates(&self) -> Option<&QueryDates> {
        self.dates.as_ref().map(|(dates, _)| dates)
    }

    /// Compares the titles of a match, one a line.
    pub fn compare(&self, uri: &Uri, titles: &str) {
        let bonus = titles.lines().map(|title| self.bonus(title)).fold(0.0, f64::max);
        let phrases = phrases_in(&self.keys, titles);
        self.update(uri, |known| *known = NamedMatch { bonus, phrases, ..*known });
    }

    /// Compares the sender of a message.
    pub fn compare_sender(&self, uri: &Uri, sender: &str) {
        let phrases = phrases_in(&self.keys, sender);
        let named = (0..self.keys.len()).filter(|phrase| phrases.contains(*phrase)).count();
        if (1..self.keys.len()).contains(&named) {
            self.update(uri, |known| known.is_named_sender = true);
        }
    }

    /// Compares the date of a match.
    pub fn compare_date(&self, uri: &Uri, date: Timestamp) {
        if self.dates.as_ref().is_some_and(|(dates, _)| dates.contains(date)) {
            self.update(uri, |known| known.is_dated = true);
        }
    }

    fn update(&self, uri: &Uri, change: impl FnOnce(&mut NamedMatch)) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        change(found.entry(uri.clone()).or_default());
    }

    /// Returns a comparison with the same query and no matches yet.
    #[must_use]
    pub fn without_names(&self) -> Self {
        let (words, letters, keys) = (self.words.clone(), self.letters.clone(), self.keys.clone());
        Self { words, letters, keys, dates: self.dates.clone(), found: Mutex::default() }
    }

    /// Copies the comparison of `known`, which has another URI in `other`.
    pub fn copy_from(&self, other: &Self, known: &Uri, uri: &Uri) {
        let found = other.found.lock().unwrap_or_else(PoisonError::into_inner).get(known).copied();
        if let Some(found) = found {
            self.update(uri, |known| *known = found);
        }
    }

    /// Compares a title with the query word by word, until it can be neither the query nor nearly so.
    fn bonus(&self, title: &str) -> f64 {
        if self.words.is_empty() {
            return 0.0;
        }
        // The letters of an exact title that must still come; words may be divided in another way.
        let mut letters = Some(self.letters.as_str());
        let mut words = self.words.iter();
        let mut next = words.next();
        let mut others = 0;
        for_each_whole_word(title, |written| {
            letters = letters.and_then(|letters| letters.strip_prefix(written));
            match next {
                Some(word) if written == word.folded || word_key(written) == word.key => {
                    next = words.next();
                }
                _ => others += 1,
            }
            // Many titles have a single word and others.
            let may_be_near = others <= MAX_OTHER_WORDS && self.words.len() > 1;
            if may_be_near || letters.is_some() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        let count = self.words.len();
        if letters.is_some_and(str::is_empty) {
            EXACT_BONUS
        } else if count > 1 && next.is_none() && others <= MAX_OTHER_WORDS {
            NEAR_BONUS * to_f64(count as u64) / to_f64((count + others) as u64)
        } else {
            0.0
        }
    }

    /// Raises the scores, from 0 to 1, of the first matches that the query names, and scales all to the
    /// same range. A match of the time that the query names counts as if it had the words of the date
    /// once. `best_bm25` is the BM25 score of a match with score 1. `ranked` must be in the order of
    /// `compare`, and is so afterwards. Returns the bonus of the title of the first match if it is the
    /// query, exactly or nearly.
    pub fn raise_scores(
        &self,
        ranked: &mut [RankedMatch],
        (weights, best_bm25): (&QueryWeights<'_>, f64),
        compare: impl Fn(&RankedMatch, &RankedMatch) -> Ordering,
    ) -> f64 {
        let known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut best: f64 = 1.0;
        for found in ranked.iter_mut().take(Self::CANDIDATES) {
            let Some(title) = known.get(&found.uri) else { continue };
            found.score += title.bonus + COVERAGE_BONUS * weights.share(title.phrases);
            if title.is_named_sender {
                found.score += SENDER_BONUS;
            }
            if let (true, Some((_, phrases))) = (title.is_dated, &self.dates) {
                let absent = found.missing.intersection(*phrases);
                found.score +=
                    COVERAGE_BONUS + weights.bm25_once(absent) / best_bm25.max(f64::MIN_POSITIVE);
                found.missing = found.missing.difference(*phrases);
            }
            best = best.max(found.score);
        }
        for found in ranked.iter_mut() {
            found.score /= best;
        }
        ranked.sort_by(compare);
        ranked.first().and_then(|first| known.get(&first.uri)).map_or(0.0, |title| title.bonus)
    }

    /// Lowers the scores of further messages of a conversation among the first matches, not below that
    /// of the last of these, so that it does not fill the results of several sources.
    pub fn spread_conversations(
        ranked: &mut [RankedMatch],
        compare: impl Fn(&RankedMatch, &RankedMatch) -> Ordering,
    ) {
        let lowest = ranked.get(Self::CANDIDATES - 1).map_or(0.0, |last| last.score);
        let mut factors: HashMap<String, f64> = HashMap::new();
        for found in ranked.iter_mut().take(Self::CANDIDATES) {
            if found.uri.source == SourceName::Chats {
                let factor = factors.entry(found.uri.id.clone()).or_insert(1.0);
                found.score = (found.score * *factor).max(lowest);
                *factor *= FURTHER_MESSAGE;
            }
        }
        ranked.sort_by(compare);
    }
}

/// Returns the phrases that are a word of a text, by what the forms of each have in common.
fn phrases_in(keys: &[Option<String>], text: &str) -> PhraseSet {
    let mut phrases = PhraseSet::default();
    for_each_word(text, |word| {
        let key = word_key(word.folded);
        let known = keys.iter().position(|known| known.as_ref() == Some(&key));
        if let Some(position) = known {
            phrases.insert(position);
        }
        ControlFlow::Continue(())
    });
    phrases
}

/// Visits the folded words of a text until `visit` breaks; a compound name and a word with signs is one
/// word.
fn for_each_whole_word(text: &str, mut visit: impl FnMut(&str) -> ControlFlow<()>) {
    let mut whole_until = 0;
    for_each_word(text, |word| {
        if word.range.start < whole_until {
            return ControlFlow::Continue(());
        }
        whole_until = word.range.end;
        visit(word.folded)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_model::CorpusStatistics;

    fn bonus(query: &str, title: &str) -> f64 {
        NamedMatches::new(&FtsQuery::parse(query)).bonus(title)
    }

    #[test]
    fn exact_title_ignores_case_and_signs() {
        for (query, title) in [
            ("advanced queries", "Advanced Queries"),
            ("e-mail setup", "Email setup"),
            ("iphone 15", "iPhone15"),
            ("how to bake", "How to bake?"),
            ("東京都", "東京都"),
        ] {
            assert_eq!(bonus(query, title), EXACT_BONUS, "{query}");
        }
        assert_eq!(bonus("c++", "C"), 0.0);
        assert_eq!(bonus("bread -rye", "Bread"), 0.0);
    }

    #[test]
    fn near_title_has_few_other_words() {
        assert_eq!(bonus("advanced query", "Advanced queries"), 0.5);
        assert_eq!(bonus("rye bread", "My rye bread, twice"), 0.25);
        assert_eq!(bonus("rye bread", "Bread of rye"), 0.0);
        assert_eq!(bonus("rye bread", "Rye bread and butter pudding"), 0.0);
        assert_eq!(bonus("bread", "Rye bread"), 0.0);
        assert_eq!(bonus("rye bread", "Rye"), 0.0);
    }

    fn match_(id: &str, score: f64) -> RankedMatch {
        RankedMatch {
            key: 0,
            uri: Uri::item(SourceName::Notes, id),
            score,
            last_modified: None,
            missing: PhraseSet::default(),
        }
    }

    fn weights(query: &FtsQuery) -> QueryWeights<'_> {
        let document_frequencies = vec![10; query.phrases().count()];
        let statistics = CorpusStatistics { rows: 1_000, tokens: 100_000, document_frequencies };
        QueryWeights::new(query, &statistics)
    }

    /// Raises the scores and returns the identifiers in the new order, and the bonus.
    fn raise(titles: &NamedMatches, query: &FtsQuery, ranked: &mut [RankedMatch]) -> (String, f64) {
        let by_score = |one: &RankedMatch, other: &RankedMatch| other.score.total_cmp(&one.score);
        let bonus = titles.raise_scores(ranked, (&weights(query), 10.0), by_score);
        (ranked.iter().map(|found| found.uri.id.as_str()).collect(), bonus)
    }

    #[test]
    fn exact_title_comes_first_in_range() {
        let query = FtsQuery::parse("rye bread");
        let titles = NamedMatches::new(&query);
        for (id, title) in [("a", "Flour"), ("b", "My rye bread"), ("c", "Rye bread")] {
            titles.compare(&Uri::item(SourceName::Notes, id), title);
        }
        let mut ranked = [match_("a", 1.0), match_("b", 0.8), match_("c", 0.2)];
        assert_eq!(raise(&titles, &query, &mut ranked), ("cba".to_owned(), EXACT_BONUS));
        assert!(ranked[0].score == 1.0 && ranked[2].score > 0.75, "{ranked:?}");
    }

    #[test]
    fn title_with_words_of_the_query_raises_a_match() {
        let query = FtsQuery::parse("how does rye bread rise");
        let titles = NamedMatches::new(&query);
        titles.compare(&Uri::item(SourceName::Notes, "b"), "Bread of rye, and its crust");
        let mut ranked = [match_("a", 1.0), match_("b", 0.98)];
        assert_eq!(raise(&titles, &query, &mut ranked), ("ba".to_owned(), 0.0));
    }

    #[test]
    fn named_sender_raises_a_match() {
        for (query, order) in [("what did Ada say of rye", "ba"), ("Ada", "ab"), ("rye", "ab")] {
            let query = FtsQuery::parse(query);
            let titles = NamedMatches::new(&query);
            titles.compare_sender(&Uri::item(SourceName::Notes, "b"), "Ada Lovelace");
            let mut ranked = [match_("a", 1.0), match_("b", 0.9)];
            assert_eq!(raise(&titles, &query, &mut ranked).0, order, "{query:?}");
        }
    }

    #[test]
    fn match_of_named_date_counts_as_having_it() {
        let query = FtsQuery::parse("rye in March 2024");
        let titles = NamedMatches::new(&query);
        let (before, within) = ("2024-02-29T23:59:59Z", "2024-03-31T23:59:59Z");
        for (id, date) in [("a", before), ("b", within)] {
            titles.compare_date(&Uri::item(SourceName::Notes, id), Timestamp::parse(date).unwrap());
        }
        let mut missing = PhraseSet::default();
        (1..3).for_each(|phrase| missing.insert(phrase));
        let dated = |id, score| RankedMatch { missing, ..match_(id, score) };
        let mut ranked = [dated("a", 1.0), dated("b", 0.6)];
        assert_eq!(raise(&titles, &query, &mut ranked).0, "ba");
        assert!(ranked[0].missing.is_empty() && !ranked[1].missing.is_empty(), "{ranked:?}");
    }

    #[test]
    fn further_messages_of_a_conversation_follow_others() {
        let message = |conversation: &str, part: &str, score| RankedMatch {
            uri: Uri::part(SourceName::Chats, conversation, part),
            ..match_("", score)
        };
        let mut ranked = [
            message("k", "1", 1.0),
            message("k", "2", 0.9),
            message("k", "3", 0.8),
            match_("a", 0.6),
        ];
        NamedMatches::spread_conversations(&mut ranked, |one, other| {
            other.score.total_cmp(&one.score)
        });
        let scores: Vec<f64> = ranked.iter().map(|found| found.score).collect();
        assert_eq!(scores, [1.0, 0.6, 0.45, 0.2]);
    }
}
