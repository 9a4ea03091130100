//! Finding the phrases of a query in a text.
//!
//! The text is read in one pass, word by word. Most words are rejected by their first letters
//! before they are folded, without any allocation.

use std::{
    collections::{HashMap, VecDeque},
    ops::{ControlFlow, Range},
};

use vademecum_fts5::{EXACT_MARK, for_each_candidate_word, for_each_word, is_unspaced, with_stem};

use super::{FtsQuery, phrase::Phrase};

/// Maximum number of words compared in one phrase: the number of bits in a `u64`.
const MAX_PHRASE_WORDS: usize = 64;

/// One occurrence of a query phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhraseMatch {
    /// Index of the phrase, in query order.
    pub(crate) phrase: usize,
    /// Byte range in the text.
    pub(crate) range: Range<usize>,
}

/// Query phrases prepared for matching against many texts.
#[derive(Clone, Debug)]
pub(crate) struct PhraseMatcher<'q> {
    /// Number of words in each phrase.
    lengths: Vec<usize>,
    /// Positions of each stem in each phrase: one bit per position.
    stem_positions: HashMap<&'q str, Vec<(usize, u64)>>,
    /// The same for words that must match exactly.
    exact_positions: HashMap<&'q str, Vec<(usize, u64)>>,
    /// Phrases that are a prefix of a word.
    prefixes: Vec<(&'q str, usize)>,
    /// Prefixes that every form of a word shares, by first byte.
    beginnings: Vec<Vec<&'q [u8]>>,
}

/// Partial match of a phrase, and the word position that must come next.
#[derive(Clone, Copy, Default)]
struct PartialMatch {
    matched_bits: u64,
    next_position: usize,
}

impl<'q> PhraseMatcher<'q> {
    /// Prepares the phrases of `query`.
    pub(crate) fn new(query: &'q FtsQuery) -> Self {
        let mut matcher = Self {
            lengths: Vec::new(),
            stem_positions: HashMap::new(),
            exact_positions: HashMap::new(),
            prefixes: Vec::new(),
            beginnings: vec![Vec::new(); 256],
        };
        for (phrase, words) in query.phrases().enumerate() {
            let length = phrase_words(words).take(MAX_PHRASE_WORDS).count();
            matcher.lengths.push(length);
            for (place, word) in phrase_words(words).take(MAX_PHRASE_WORDS).enumerate() {
                matcher.add_token(word, words.prefix, phrase, 1 << place);
            }
        }
        matcher
    }

    fn add_token(&mut self, token: &'q str, prefix: bool, phrase: usize, place: u64) {
        if prefix {
            self.prefixes.push((token, phrase));
            return self.add_beginning(token.as_bytes());
        }
        let (word, known) = match token.strip_prefix(EXACT_MARK) {
            Some(word) => (word, self.exact_positions.entry(word).or_default()),
            None => (token, self.stem_positions.entry(token).or_default()),
        };
        match known.last_mut().filter(|(last, _)| *last == phrase) {
            Some((_, places)) => *places |= place,
            None => known.push((phrase, place)),
        }
        // Stemming changes at most the last two letters of what remains.
        let sure = word.len().saturating_sub(2).max(1);
        self.add_beginning(word.as_bytes().get(..sure).unwrap_or_default());
    }

    fn add_beginning(&mut self, beginning: &'q [u8]) {
        let first = beginning.first().map_or(0, |first| usize::from(*first));
        if let Some(known) = self.beginnings.get_mut(first).filter(|all| !all.contains(&beginning))
        {
            known.push(beginning);
        }
    }

    /// Returns the number of phrases.
    pub(crate) fn phrase_count(&self) -> usize {
        self.lengths.len()
    }

    /// Returns whether a folded word is part of any phrase that `wanted` accepts.
    pub(crate) fn is_phrase_word(&self, folded: &str, wanted: impl Fn(usize) -> bool) -> bool {
        let mut found = false;
        self.for_each_position(folded, |phrase, _| found |= wanted(phrase));
        found
    }

    /// Visits each phrase that contains a folded word, with the word's positions in it.
    fn for_each_position(&self, folded: &str, mut visit: impl FnMut(usize, u64)) {
        let stemmed = with_stem(folded, |stem| self.stem_positions.get(stem));
        let exact = self.exact_positions.get(folded);
        for (phrase, places) in stemmed.into_iter().chain(exact).flatten() {
            visit(*phrase, *places);
        }
        for (beginning, phrase) in &self.prefixes {
            if folded.starts_with(beginning) {
                visit(*phrase, 1);
            }
        }
    }

    /// Calls `visit` for every match in `text`, ordered by match end, until it breaks.
    pub(crate) fn for_each_match(
        &self,
        text: &str,
        mut visit: impl FnMut(PhraseMatch) -> ControlFlow<()>,
    ) {
        let Some(longest) = self.lengths.iter().copied().max() else { return };
        let mut progress = vec![PartialMatch::default(); self.lengths.len()];
        // Start positions of the most recent query words.
        let mut starts: VecDeque<usize> = VecDeque::with_capacity(longest);
        for_each_candidate_word(
            text,
            |word| self.may_match(word),
            |word| {
                let mut broken_off = ControlFlow::Continue(());
                let mut first = true;
                self.for_each_position(word.folded, |phrase, places| {
                    if std::mem::take(&mut first) {
                        if starts.len() == longest {
                            starts.pop_front();
                        }
                        starts.push_back(word.range.start);
                    }
                    let advanced =
                        advance_match(&self.lengths, &mut progress, phrase, places, word.position);
                    let Some(length) = advanced.filter(|_| broken_off.is_continue()) else {
                        return;
                    };
                    let first =
                        starts.len().checked_sub(length).and_then(|first| starts.get(first));
                    let start = first.copied().unwrap_or(word.range.start);
                    broken_off = visit(PhraseMatch { phrase, range: start..word.range.end });
                });
                broken_off
            },
        );
    }

    /// Returns whether an unfolded word may have a stem of the query. ASCII case is ignored.
    fn may_match(&self, word: &str) -> bool {
        let word = word.as_bytes();
        let first = word.first().map_or(0, |first| usize::from(first.to_ascii_lowercase()));
        self.beginnings.get(first).is_some_and(|all| {
            all.iter().any(|beginning| {
                word.get(..beginning.len()).is_some_and(|same| same.eq_ignore_ascii_case(beginning))
            })
        })
    }
}

/// Returns the words of a phrase. A pair of characters from a script without spaces is one token
/// but two words. A combining mark belongs to the preceding character, as in `が`, which folds into
/// two.
fn phrase_words(phrase: &Phrase) -> impl Iterator<Item = &str> {
    phrase.tokens.iter().flat_map(|token| {
        let mut words = Vec::new();
        if token.starts_with(is_unspaced) {
            for_each_word(token, |word| {
                words.extend(token.get(word.range));
                ControlFlow::Continue(())
            });
        } else {
            words.push(token.as_str());
        }
        words
    })
}

/// Advances the partial match of a phrase by one word. Returns the phrase length if the match is
/// complete.
fn advance_match(
    lengths: &[usize],
    progress: &mut [PartialMatch],
    phrase: usize,
    places: u64,
    position: usize,
) -> Option<usize> {
    let length = *lengths.get(phrase)?;
    let so_far = progress.get_mut(phrase)?;
    let before = if so_far.next_position == position { so_far.matched_bits << 1 } else { 0 };
    *so_far = PartialMatch { matched_bits: (before | 1) & places, next_position: position + 1 };
    let last = 1_u64.checked_shl(u32::try_from(length.checked_sub(1)?).ok()?)?;
    (so_far.matched_bits & last != 0).then_some(length)
}

impl FtsQuery {
    /// Returns the byte range of the first match of any phrase in `text`.
    pub fn find_first_match(&self, text: &str) -> Option<Range<usize>> {
        let mut first = None;
        PhraseMatcher::new(self).for_each_match(text, |found| {
            first = Some(found.range);
            ControlFlow::Break(())
        });
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_matches<'t>(query: &str, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        PhraseMatcher::new(&FtsQuery::parse(query)).for_each_match(text, |match_| {
            found.push(&text[match_.range]);
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn matcher_ignores_inflection_and_accents() {
        let text = "We were kneading the Pâte slowly.";
        let found =
            |query: &str| FtsQuery::parse(query).find_first_match(text).map(|place| &text[place]);
        assert_eq!(found("kneads"), Some("kneading"));
        assert_eq!(found("pate"), Some("Pâte"));
        assert_eq!(found("\"the pate\""), Some("the Pâte"));
        assert_eq!(found("oven"), None);
    }

    #[test]
    fn matcher_finds_every_word_form() {
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
                    let stemmed = |word: &str| with_stem(&word.to_lowercase(), str::to_owned);
                    let stems = (stemmed(asked), stemmed(written));
                    let found = FtsQuery::parse(asked).find_first_match(written).is_some();
                    assert_eq!(found, stems.0 == stems.1, "{asked} in {written}: {stems:?}");
                }
            }
        }
    }

    #[test]
    fn matcher_finds_unspaced_text_inside_longer_text() {
        assert_eq!(all_matches("京都", "昨日、東京都へ行った。京の都"), ["京都"]);
        assert_eq!(all_matches("東京都", "東京都"), ["東京", "京都"]);
    }

    #[test]
    fn matcher_keeps_combining_mark_with_character() {
        assert_eq!(
            all_matches("\"ただこの景色が\"", "ない。ただこの景色がよい"),
            ["ただこの景色が"]
        );
        assert_eq!(all_matches("がぎ", "かがぎく"), ["がぎ"]);
        assert_eq!(all_matches("ลัง", "คนกำลังมา"), ["ลัง"]);
    }

    #[test]
    fn phrase_matches_only_adjacent_words() {
        let text = "rye bread, rye-bread; rye, then bread. Bread rye. Rye rye bread";
        assert_eq!(all_matches(r#""rye bread""#, text), ["rye bread", "rye-bread", "rye bread"]);
        assert_eq!(all_matches(r#""rye rye bread""#, text), ["Rye rye bread"]);
        assert_eq!(all_matches(r#""a b a b c""#, "a b a b a b c"), ["a b a b c"]);
    }

    #[test]
    fn all_phrases_ending_at_word_are_reported() {
        assert_eq!(all_matches(r#""rye bread" bread"#, "my rye bread"), ["bread", "rye bread"]);
    }
}
