//! Selection of the part of a text that covers the most of a query.
//!
//! A window is as wide as a snippet. Windows are compared by the sum of the weights of their
//! distinct phrases, then of all occurrences; the first of equal windows wins. The window slides
//! over the matches in one pass and stores only the matches inside it.

use std::{
    collections::VecDeque,
    ops::{ControlFlow, Range},
};

use super::phrase_matcher::{PhraseMatch, PhraseMatcher};

/// Phrases of a query that occur in a text, and the densest window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextMatches {
    /// Byte range from the first to the last match of the densest window.
    pub densest: Option<Range<usize>>,
    score: WindowScore,
    /// Whether each phrase occurs anywhere in the text, in query order.
    pub(crate) phrases: Vec<bool>,
}

/// Coverage of a query by a window. Weights are whole numbers, so that a score does not depend on
/// the order in which matches come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct WindowScore {
    /// Sum of the weights of the distinct phrases.
    distinct_weight: u64,
    /// Sum of the weights of all occurrences.
    total_weight: u64,
}

/// What a weight of 1 is as a whole number.
const WEIGHT_UNIT: f64 = 4_294_967_296.0;
/// Maximum weight, so that the weights of many matches can be added.
const MAX_WEIGHT: f64 = 1_000.0;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is from 0 to 2^42"
)]
fn whole_weight(weight: f64) -> u64 {
    (weight.min(MAX_WEIGHT) * WEIGHT_UNIT) as u64
}

impl TextMatches {
    /// Returns whether the densest window covers more of the query than that of `other`.
    pub fn is_denser_than(&self, other: &Self) -> bool {
        self.densest.is_some() && (other.densest.is_none() || self.score > other.score)
    }

    /// Merges the phrases that occur in another text of the same item.
    pub(crate) fn merge_phrases(&mut self, other: &Self) {
        self.phrases.resize(self.phrases.len().max(other.phrases.len()), false);
        for (occurs, there) in self.phrases.iter_mut().zip(&other.phrases) {
            *occurs |= there;
        }
    }
}

/// Finds the densest window of `text` that fits a snippet of `length` characters. Phrases without a
/// usable weight have the weight 1.
pub(crate) fn find_densest_window(
    matcher: &PhraseMatcher<'_>,
    weights: &[f64],
    text: &str,
    length: usize,
) -> TextMatches {
    let weight = |phrase: usize| {
        let named = weights.get(phrase).copied();
        whole_weight(named.filter(|it| it.is_finite() && *it >= 0.0).unwrap_or(1.0))
    };
    let mut sliding = SlidingWindow {
        text,
        // A snippet also needs space for surrounding words and ellipses.
        width: (length - length / 8).saturating_sub(2),
        weights: (0..matcher.phrase_count()).map(weight).collect(),
        counts: vec![0; matcher.phrase_count()],
        matches: VecDeque::new(),
        score: WindowScore::default(),
        position: (0, 0),
        found: TextMatches {
            phrases: vec![false; matcher.phrase_count()],
            ..TextMatches::default()
        },
    };
    matcher.for_each_match(text, |match_| {
        sliding.push_match(match_);
        ControlFlow::Continue(())
    });
    sliding.found
}

/// State of the sliding window.
struct SlidingWindow<'t> {
    text: &'t str,
    /// Width in characters.
    width: usize,
    weights: Vec<u64>,
    /// Number of occurrences of each phrase inside the window.
    counts: Vec<u32>,
    /// Matches inside the window, with their start in characters.
    matches: VecDeque<(PhraseMatch, usize)>,
    score: WindowScore,
    /// Position up to which characters are counted, in bytes and in characters.
    position: (usize, usize),
    found: TextMatches,
}

impl SlidingWindow<'_> {
    /// Moves the window to include the next match.
    fn push_match(&mut self, match_: PhraseMatch) {
        let end = self.chars_before(match_.range.end);
        let start = end - count_chars(self.text, &match_.range).min(end);
        while let Some((first, _)) =
            self.matches.front().filter(|(_, start)| start + self.width < end)
        {
            self.remove_phrase(first.phrase);
            self.matches.pop_front();
        }
        self.add_phrase(match_.phrase);
        if let Some(occurs) = self.found.phrases.get_mut(match_.phrase) {
            *occurs = true;
        }
        let end = match_.range.end;
        self.matches.push_back((match_, start));
        if self.found.densest.is_none() || self.score > self.found.score {
            let starts = self.matches.iter().map(|(match_, _)| match_.range.start);
            self.found.densest = starts.min().map(|start| start..end);
            self.found.score = self.score;
        }
    }

    fn add_phrase(&mut self, phrase: usize) {
        let Some(count) = self.counts.get_mut(phrase) else { return };
        *count += 1;
        let weight = self.weights.get(phrase).copied().unwrap_or_default();
        self.score.total_weight = self.score.total_weight.saturating_add(weight);
        if *count == 1 {
            self.score.distinct_weight = self.score.distinct_weight.saturating_add(weight);
        }
    }

    fn remove_phrase(&mut self, phrase: usize) {
        let Some(count) = self.counts.get_mut(phrase) else { return };
        *count = count.saturating_sub(1);
        let weight = self.weights.get(phrase).copied().unwrap_or_default();
        self.score.total_weight = self.score.total_weight.saturating_sub(weight);
        if *count == 0 {
            self.score.distinct_weight = self.score.distinct_weight.saturating_sub(weight);
        }
    }

    /// Returns the number of characters before a byte position. Distances longer than the window
    /// are estimated, because any large number serves.
    fn chars_before(&mut self, bytes: usize) -> usize {
        let (from, before) = self.position;
        let way = bytes.saturating_sub(from);
        let far = way / 4 > self.width;
        let characters = if far { way / 4 } else { count_chars(self.text, &(from..bytes)) };
        self.position = (bytes.max(from), before + characters);
        self.position.1
    }
}

fn count_chars(text: &str, place: &Range<usize>) -> usize {
    text.get(place.clone()).map_or(0, |part| part.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FtsQuery;

    fn densest<'t>(text: &'t str, query: &str, weights: &[f64], length: usize) -> Option<&'t str> {
        let query = FtsQuery::parse(query);
        let found = find_densest_window(&PhraseMatcher::new(&query), weights, text, length);
        found.densest.map(|place| &text[place])
    }

    #[test]
    fn adjacent_words_beat_first_match() {
        let hay = "hay ".repeat(200);
        let text = format!("bread {hay} rye bread and salt {hay} salt");
        assert_eq!(densest(&text, "salt rye bread", &[], 300), Some("rye bread and salt"));
    }

    #[test]
    fn ties_prefer_more_matches_then_first_window() {
        let hay = "and the hay ".repeat(70);
        let text = format!("bread {hay} Bread, breads {hay} bread bread");
        assert_eq!(densest(&text, "bread", &[], 300), Some("Bread, breads"));
    }

    #[test]
    fn rare_word_beats_two_common_words() {
        let hay = "hay ".repeat(200);
        let text = format!("one two {hay} three {hay}");
        assert_eq!(densest(&text, "one two three", &[], 300), Some("one two"));
        assert_eq!(densest(&text, "one two three", &[1.0, 1.0, 5.0], 300), Some("three"));
        let unusable = [f64::NAN, -1.0, f64::INFINITY];
        assert_eq!(densest(&text, "one two three", &unusable, 300), Some("one two"));
    }

    #[test]
    fn window_is_no_wider_than_snippet() {
        for gap in 0..80 {
            let text = format!("ünten {}oben", "ö ".repeat(gap));
            for length in [20, 40, 80, 160] {
                let found = densest(&text, "unten oben", &[], length).unwrap();
                assert!(found.chars().count() <= length, "{length}: {found}");
                let fits = text.chars().count() + length / 8 + 2 < length;
                assert!(!fits || found.ends_with("oben"), "{length}: {found}");
            }
        }
    }

    #[test]
    fn all_occurring_phrases_are_reported() {
        let query = FtsQuery::parse("\"rye bread\" salt oven");
        let text = format!("salt {} rye bread", "hay ".repeat(9_999));
        let found = find_densest_window(&PhraseMatcher::new(&query), &[], &text, 300);
        assert_eq!(found.phrases, [true, true, false]);
    }

    /// Computes the best score by comparing all windows.
    fn best_score(text: &str, query: &FtsQuery, weights: &[f64], width: usize) -> f64 {
        let mut all = Vec::new();
        PhraseMatcher::new(query).for_each_match(text, |match_| {
            all.push(match_);
            ControlFlow::Continue(())
        });
        let characters = |place: Range<usize>| text[place].chars().count();
        let mut best: f64 = 0.0;
        for first in 0..all.len() {
            let mut phrases = std::collections::BTreeSet::new();
            for match_ in &all[first..] {
                let start = all[first].range.start;
                if phrases.is_empty() || characters(start..match_.range.end) <= width {
                    phrases.insert(match_.phrase);
                }
            }
            best = best.max(phrases.iter().map(|phrase| weights[*phrase]).sum());
        }
        best
    }

    #[test]
    fn densest_window_has_highest_score() {
        let words = ["rye", "bread", "salt", "wässer", "hay", "straw", "—", "grass, grass"];
        let query = FtsQuery::parse("rye bread salt wasser");
        let weights = [1.0, 2.0, 0.5, 4.0];
        let mut rng = 1_u32;
        for _ in 0..300 {
            let text: Vec<&str> = (0..60)
                .map(|_| {
                    rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    words[(rng >> 16) as usize % words.len()]
                })
                .collect();
            let text = text.join(" ");
            for length in [12, 30, 60] {
                let found =
                    find_densest_window(&PhraseMatcher::new(&query), &weights, &text, length);
                let width = length - length / 8 - 2;
                let best = best_score(&text, &query, &weights, width);
                assert_eq!(found.score.distinct_weight, whole_weight(best), "{length}: {text}");
            }
        }
    }
}
