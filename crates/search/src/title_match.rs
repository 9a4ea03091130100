//! Matches whose title is the query, which come first (`docs/adr/0008-one-ranking.md`).
//!
//! A search for a title means the item of that name, but a longer text that repeats the words has a
//! higher BM25 score. The sources compare the titles of their best matches with the query; the
//! scores are raised after the sources are merged, so they do not depend on the page.

use std::{
    cmp::Ordering,
    collections::HashMap,
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
};

use vademecum_fts5::for_each_word;
use vademecum_model::{Uri, to_f64};

use super::{FtsQuery, phrase::word_key};
use crate::RankedMatch;

/// Maximum number of words in a query that may be a title.
const MAX_TITLE_WORDS: usize = 16;
/// Maximum number of other words in a title that is nearly the query.
const MAX_OTHER_WORDS: usize = 2;
/// Added to the score of a match of which the title is the query; more than any other match has.
const EXACT_BONUS: f64 = 1.0;
/// Added if the title has the words of the query in order, times the share of them in the title.
const NEAR_BONUS: f64 = 0.5;

/// A word of the query.
#[derive(Clone, Debug)]
struct TitleWord {
    folded: String,
    /// The stem, which other forms of the word share.
    key: String,
}

/// Titles that are a query, exactly or nearly.
#[derive(Debug)]
pub struct TitleMatches {
    words: Vec<TitleWord>,
    /// The folded words without spaces.
    letters: String,
    bonuses: Mutex<HashMap<Uri, f64>>,
}

impl TitleMatches {
    /// Number of matches, best first, of which the titles are compared.
    pub const CANDIDATES: usize = 50;

    /// Returns the comparison for a query, or `None` for a query that cannot be a title.
    pub fn new(query: &FtsQuery) -> Option<Self> {
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
        let letters = words.iter().map(|word| word.folded.as_str()).collect();
        may_be_title.then(|| Self { words, letters, bonuses: Mutex::default() })
    }

    /// Compares the titles of a match, one a line.
    pub fn compare(&self, uri: &Uri, titles: &str) {
        let bonus = titles.lines().map(|title| self.bonus(title)).fold(0.0, f64::max);
        if bonus > 0.0 {
            let mut bonuses = self.bonuses.lock().unwrap_or_else(PoisonError::into_inner);
            bonuses.insert(uri.clone(), bonus);
        }
    }

    /// Returns a comparison with the same query and no titles yet.
    #[must_use]
    pub fn without_titles(&self) -> Self {
        Self { words: self.words.clone(), letters: self.letters.clone(), bonuses: Mutex::default() }
    }

    /// Copies the comparison of `known`, which has another URI in `other`.
    pub fn copy_from(&self, other: &Self, known: &Uri, uri: &Uri) {
        let bonus =
            other.bonuses.lock().unwrap_or_else(PoisonError::into_inner).get(known).copied();
        let mut bonuses = self.bonuses.lock().unwrap_or_else(PoisonError::into_inner);
        bonuses.extend(bonus.map(|bonus| (uri.clone(), bonus)));
    }

    /// Compares a title with the query word by word, until it can be neither the query nor nearly so.
    fn bonus(&self, title: &str) -> f64 {
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

    /// Raises the scores, from 0 to 1, of the first matches that have such a title, and scales all to
    /// the same range. `ranked` must be in the order of `compare`, and is so afterwards.
    pub fn raise_scores(
        &self,
        ranked: &mut [RankedMatch],
        compare: impl Fn(&RankedMatch, &RankedMatch) -> Ordering,
    ) {
        let bonuses = self.bonuses.lock().unwrap_or_else(PoisonError::into_inner);
        let mut best: f64 = 1.0;
        for found in ranked.iter_mut().take(Self::CANDIDATES) {
            found.score += bonuses.get(&found.uri).copied().unwrap_or(0.0);
            best = best.max(found.score);
        }
        if best > 1.0 {
            for found in ranked.iter_mut() {
                found.score /= best;
            }
            ranked.sort_by(compare);
        }
    }
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
    use vademecum_model::SourceName;

    fn bonus(query: &str, title: &str) -> f64 {
        TitleMatches::new(&FtsQuery::parse(query)).map_or(-1.0, |titles| titles.bonus(title))
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
        assert_eq!(bonus("bread -rye", "Bread"), -1.0);
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

    #[test]
    fn exact_title_comes_first_in_range() {
        let match_ = |id: &str, score| RankedMatch {
            key: 0,
            uri: Uri::item(SourceName::Notes, id),
            score,
            last_modified: None,
        };
        let titles = TitleMatches::new(&FtsQuery::parse("rye bread")).unwrap();
        for (id, title) in [("a", "Flour"), ("b", "My rye bread"), ("c", "Rye bread")] {
            titles.compare(&Uri::item(SourceName::Notes, id), title);
        }
        let mut ranked = [match_("a", 1.0), match_("b", 0.8), match_("c", 0.2)];
        titles.raise_scores(&mut ranked, |one, other| other.score.total_cmp(&one.score));
        let ids: Vec<&str> = ranked.iter().map(|found| found.uri.id.as_str()).collect();
        assert_eq!(ids, ["c", "b", "a"]);
        assert!(ranked[0].score == 1.0 && ranked[2].score > 0.8, "{ranked:?}");
    }
}
