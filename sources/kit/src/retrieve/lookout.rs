//! Where the phrases of a query stand in a text.
//!
//! One pass, word by word. Most words of a text cannot be one that is looked
//! for, which their first letters tell: they are counted and passed over
//! before they are folded, and nothing is allocated for them.

use std::{
    collections::{HashMap, VecDeque},
    ops::{ControlFlow, Range},
};

use vademecum_fts5::{EXACT, each_word, each_word_like, is_solid, stem};

use super::{FtsQuery, phrase::Phrase};

/// Words of one phrase that are compared: as many as there are bits.
const MOST_WORDS: usize = 64;

/// One occurrence of a phrase of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// Which phrase it is, in the order of the query.
    pub(crate) phrase: usize,
    /// Where it stands in the text, in bytes.
    pub(crate) place: Range<usize>,
}

/// The phrases of a query, ready to be met in any number of texts.
#[derive(Clone, Debug)]
pub(crate) struct Lookout<'q> {
    /// How many words each phrase has.
    lengths: Vec<usize>,
    /// The places of a word, by its stem, in the phrases it is in: one bit for
    /// each place.
    places: HashMap<&'q str, Vec<(usize, u64)>>,
    /// The same for words that are meant exactly as they are.
    exact: HashMap<&'q str, Vec<(usize, u64)>>,
    /// Phrases that are the beginning of a word.
    prefixes: Vec<(&'q str, usize)>,
    /// What every form of a word begins with, by its first byte.
    beginnings: Vec<Vec<&'q [u8]>>,
}

/// How far a phrase has been met, and which word of the text comes next.
#[derive(Clone, Copy, Default)]
struct Progress {
    met: u64,
    word: usize,
}

impl<'q> Lookout<'q> {
    /// Prepares to look for the phrases of `query`.
    pub(crate) fn new(query: &'q FtsQuery) -> Self {
        let mut lookout = Self {
            lengths: Vec::new(),
            places: HashMap::new(),
            exact: HashMap::new(),
            prefixes: Vec::new(),
            beginnings: vec![Vec::new(); 256],
        };
        for (phrase, words) in query.phrases().enumerate() {
            let length = tokens(words).take(MOST_WORDS).count();
            lookout.lengths.push(length);
            for (place, word) in tokens(words).take(MOST_WORDS).enumerate() {
                lookout.expect(word, words.prefix, phrase, 1 << place);
            }
        }
        lookout
    }

    fn expect(&mut self, token: &'q str, prefix: bool, phrase: usize, place: u64) {
        if prefix {
            self.prefixes.push((token, phrase));
            return self.begin_with(token.as_bytes());
        }
        let (word, known) = match token.strip_prefix(EXACT) {
            Some(word) => (word, self.exact.entry(word).or_default()),
            None => (token, self.places.entry(token).or_default()),
        };
        match known.last_mut().filter(|(last, _)| *last == phrase) {
            Some((_, places)) => *places |= place,
            None => known.push((phrase, place)),
        }
        // Cutting an ending off changes the last two letters of what is left
        // at most.
        let sure = word.len().saturating_sub(2).max(1);
        self.begin_with(word.as_bytes().get(..sure).unwrap_or_default());
    }

    fn begin_with(&mut self, beginning: &'q [u8]) {
        let first = beginning.first().map_or(0, |first| usize::from(*first));
        if let Some(known) = self.beginnings.get_mut(first).filter(|all| !all.contains(&beginning))
        {
            known.push(beginning);
        }
    }

    /// How many phrases there are.
    pub(crate) fn count(&self) -> usize {
        self.lengths.len()
    }

    /// Whether a folded word is part of any phrase that `wanted` accepts.
    pub(crate) fn is_in(&self, folded: &str, wanted: impl Fn(usize) -> bool) -> bool {
        let mut found = false;
        self.each_place(folded, |phrase, _| found |= wanted(phrase));
        found
    }

    /// The phrases that a folded word is part of, and its places in them.
    fn each_place(&self, folded: &str, mut visit: impl FnMut(usize, u64)) {
        let stemmed = stem(folded, |stem| self.places.get(stem));
        let exact = self.exact.get(folded);
        for (phrase, places) in stemmed.into_iter().chain(exact).flatten() {
            visit(*phrase, *places);
        }
        for (beginning, phrase) in &self.prefixes {
            if folded.starts_with(beginning) {
                visit(*phrase, 1);
            }
        }
    }

    /// Hands every match in `text` to `visit`, in the order in which they end,
    /// until it breaks off.
    pub(crate) fn each(&self, text: &str, mut visit: impl FnMut(Match) -> ControlFlow<()>) {
        let Some(longest) = self.lengths.iter().copied().max() else { return };
        let mut progress = vec![Progress::default(); self.lengths.len()];
        // Where the last words began that are looked for.
        let mut starts: VecDeque<usize> = VecDeque::with_capacity(longest);
        each_word_like(
            text,
            |word| self.may_be(word),
            |word| {
                let mut broken_off = ControlFlow::Continue(());
                let mut first = true;
                self.each_place(word.folded, |phrase, places| {
                    if std::mem::take(&mut first) {
                        if starts.len() == longest {
                            starts.pop_front();
                        }
                        starts.push_back(word.place.start);
                    }
                    let advanced =
                        advance(&self.lengths, &mut progress, phrase, places, word.position);
                    let Some(length) = advanced.filter(|_| broken_off.is_continue()) else {
                        return;
                    };
                    let first =
                        starts.len().checked_sub(length).and_then(|first| starts.get(first));
                    let start = first.copied().unwrap_or(word.place.start);
                    broken_off = visit(Match { phrase, place: start..word.place.end });
                });
                broken_off
            },
        );
    }

    /// Whether a word may have a stem that is looked for. Case may be as it is
    /// written.
    fn may_be(&self, word: &str) -> bool {
        let word = word.as_bytes();
        let first = word.first().map_or(0, |first| usize::from(first.to_ascii_lowercase()));
        self.beginnings.get(first).is_some_and(|all| {
            all.iter().any(|beginning| {
                word.get(..beginning.len()).is_some_and(|same| same.eq_ignore_ascii_case(beginning))
            })
        })
    }
}

/// The words of a phrase, each a run of its own: a pair of characters without
/// a space is one token, but two words. A mark belongs to the character before
/// it, as in `が`, which is folded into two.
fn tokens(phrase: &Phrase) -> impl Iterator<Item = &str> {
    phrase.tokens.iter().flat_map(|token| {
        let mut words = Vec::new();
        if token.starts_with(is_solid) {
            each_word(token, |word| {
                words.extend(token.get(word.place));
                ControlFlow::Continue(())
            });
        } else {
            words.push(token.as_str());
        }
        words
    })
}

/// Takes a phrase one word further; its length, if this was its last word.
fn advance(
    lengths: &[usize],
    progress: &mut [Progress],
    phrase: usize,
    places: u64,
    position: usize,
) -> Option<usize> {
    let length = *lengths.get(phrase)?;
    let so_far = progress.get_mut(phrase)?;
    let before = if so_far.word == position { so_far.met << 1 } else { 0 };
    *so_far = Progress { met: (before | 1) & places, word: position + 1 };
    let last = 1_u64.checked_shl(u32::try_from(length.checked_sub(1)?).ok()?)?;
    (so_far.met & last != 0).then_some(length)
}

impl FtsQuery {
    /// Where the first phrase of the query stands in `text`, in bytes.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let mut first = None;
        Lookout::new(self).each(text, |found| {
            first = Some(found.place);
            ControlFlow::Break(())
        });
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'t>(query: &str, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        Lookout::new(&FtsQuery::parse(query)).each(text, |match_| {
            found.push(&text[match_.place]);
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn a_match_is_found_in_any_inflection_and_accent() {
        let text = "We were kneading the Pâte slowly.";
        let found = |query: &str| FtsQuery::parse(query).find(text).map(|place| &text[place]);
        assert_eq!(found("kneads"), Some("kneading"));
        assert_eq!(found("pate"), Some("Pâte"));
        assert_eq!(found("\"the pate\""), Some("the Pâte"));
        assert_eq!(found("oven"), None);
    }

    #[test]
    fn every_word_is_found_by_each_of_its_forms() {
        let families = [
            ["hope", "hoping", "hoped"],
            ["die", "dying", "died"],
            ["sky", "skies", "sky"],
            ["happy", "happiness", "happily"],
            ["sensible", "sensibility", "sensibly"],
            ["early", "Early", "EARLY"],
            ["relate", "relational", "relating"],
            ["run", "running", "runs"],
        ];
        for family in families {
            for asked in family {
                for written in family {
                    let stemmed = |word: &str| stem(&word.to_lowercase(), str::to_owned);
                    let stems = (stemmed(asked), stemmed(written));
                    let found = FtsQuery::parse(asked).find(written).is_some();
                    assert_eq!(found, stems.0 == stems.1, "{asked} in {written}: {stems:?}");
                }
            }
        }
    }

    #[test]
    fn a_run_without_spaces_is_found_inside_another() {
        assert_eq!(all("京都", "昨日、東京都へ行った。京の都"), ["京都"]);
        assert_eq!(all("東京都", "東京都"), ["東京", "京都"]);
    }

    #[test]
    fn a_character_is_found_with_the_mark_that_is_a_part_of_it() {
        assert_eq!(all("\"ただこの景色が\"", "ない。ただこの景色がよい"), ["ただこの景色が"]);
        assert_eq!(all("がぎ", "かがぎく"), ["がぎ"]);
        assert_eq!(all("ลัง", "คนกำลังมา"), ["ลัง"]);
    }

    #[test]
    fn a_phrase_is_met_only_where_its_words_are_neighbours() {
        let text = "rye bread, rye-bread; rye, then bread. Bread rye. Rye rye bread";
        assert_eq!(all(r#""rye bread""#, text), ["rye bread", "rye-bread", "rye bread"]);
        assert_eq!(all(r#""rye rye bread""#, text), ["Rye rye bread"]);
        assert_eq!(all(r#""a b a b c""#, "a b a b a b c"), ["a b a b c"]);
    }

    #[test]
    fn every_phrase_that_ends_with_a_word_is_met_there() {
        assert_eq!(all(r#""rye bread" bread"#, "my rye bread"), ["bread", "rye bread"]);
    }
}
