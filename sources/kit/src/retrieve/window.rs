//! The part of a text in which most of a query stands together.
//!
//! A window is as wide as what will be shown. What counts is how much of the
//! query it holds: the weights of its distinct phrases, then of all their
//! occurrences, then which comes first. One pass finds it: the window slides
//! over the matches, and only they are remembered while they are inside.

use std::{
    collections::VecDeque,
    ops::{ControlFlow, Range},
};

use super::lookout::{Lookout, Match};

/// What of a query occurs in a text, and where most of it stands together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// From the first to the last match of the densest window, in bytes.
    pub densest: Option<Range<usize>>,
    worth: Worth,
    /// Which phrases occur anywhere in the text, in the order of the query.
    pub(crate) phrases: Vec<bool>,
}

/// How much of a query a window holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
struct Worth {
    /// Weights of the phrases in it, each counted once.
    distinct: f64,
    /// Weights of all occurrences.
    all: f64,
}

impl Found {
    /// Whether more of the query stands together here than there.
    pub fn is_denser_than(&self, other: &Self) -> bool {
        self.densest.is_some() && (other.densest.is_none() || self.worth > other.worth)
    }

    /// Takes in what occurs in another text of the same item.
    pub(crate) fn add(&mut self, other: &Self) {
        self.phrases.resize(self.phrases.len().max(other.phrases.len()), false);
        for (occurs, there) in self.phrases.iter_mut().zip(&other.phrases) {
            *occurs |= there;
        }
    }
}

/// Looks through `text` for the densest window that a snippet of `length`
/// characters can show. Phrases without a usable weight have 1.
pub(crate) fn look(lookout: &Lookout<'_>, weights: &[f64], text: &str, length: usize) -> Found {
    let weight = |phrase: usize| -> f64 {
        let named = weights.get(phrase).copied();
        named.filter(|weight| weight.is_finite() && *weight >= 0.0).unwrap_or(1.0)
    };
    let mut sliding = Sliding {
        text,
        // A snippet needs room for the words around and for where it was cut.
        width: (length - length / 8).saturating_sub(2),
        weights: (0..lookout.count()).map(weight).collect(),
        counts: vec![0; lookout.count()],
        inside: VecDeque::new(),
        read: (0, 0),
        found: Found { phrases: vec![false; lookout.count()], ..Found::default() },
    };
    lookout.each(text, |match_| {
        sliding.admit(match_);
        ControlFlow::Continue(())
    });
    sliding.found
}

/// The window on its way through the text.
struct Sliding<'t> {
    text: &'t str,
    /// In characters.
    width: usize,
    weights: Vec<f64>,
    /// How often each phrase is inside.
    counts: Vec<u32>,
    /// The matches inside, and where each begins, in characters.
    inside: VecDeque<(Match, usize)>,
    /// How far the text was read, in bytes and in characters.
    read: (usize, usize),
    found: Found,
}

impl Sliding<'_> {
    /// Moves the window on to a match.
    fn admit(&mut self, match_: Match) {
        let end = self.characters_to(match_.place.end);
        let start = end - count(self.text, &match_.place).min(end);
        while let Some((first, _)) =
            self.inside.front().filter(|(_, start)| start + self.width < end)
        {
            if let Some(count) = self.counts.get_mut(first.phrase) {
                *count -= 1;
            }
            self.inside.pop_front();
        }
        if let Some(count) = self.counts.get_mut(match_.phrase) {
            *count += 1;
        }
        if let Some(occurs) = self.found.phrases.get_mut(match_.phrase) {
            *occurs = true;
        }
        let end = match_.place.end;
        self.inside.push_back((match_, start));
        let worth = self.worth();
        if self.found.densest.is_none() || worth > self.found.worth {
            let starts = self.inside.iter().map(|(match_, _)| match_.place.start);
            self.found.densest = starts.min().map(|start| start..end);
            self.found.worth = worth;
        }
    }

    /// Added up anew each time, so that equal windows are equal to the last bit.
    fn worth(&self) -> Worth {
        let mut worth = Worth::default();
        for (weight, count) in self.weights.iter().zip(&self.counts).filter(|(_, n)| **n > 0) {
            worth.distinct += weight;
            worth.all += weight * f64::from(*count);
        }
        worth
    }

    /// How many characters stand before a place. Where the way there is longer
    /// than any window, it is not measured: then any great number will do.
    fn characters_to(&mut self, bytes: usize) -> usize {
        let (from, before) = self.read;
        let way = bytes.saturating_sub(from);
        let far = way / 4 > self.width;
        let characters = if far { way / 4 } else { count(self.text, &(from..bytes)) };
        self.read = (bytes.max(from), before + characters);
        self.read.1
    }
}

fn count(text: &str, place: &Range<usize>) -> usize {
    text.get(place.clone()).map_or(0, |part| part.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieve::FtsQuery;

    fn densest<'t>(text: &'t str, query: &str, weights: &[f64], length: usize) -> Option<&'t str> {
        let query = FtsQuery::parse(query);
        let found = look(&Lookout::new(&query), weights, text, length);
        found.densest.map(|place| &text[place])
    }

    #[test]
    fn words_that_stand_together_beat_the_first_match() {
        let hay = "hay ".repeat(200);
        let text = format!("bread {hay} rye bread and salt {hay} salt");
        assert_eq!(densest(&text, "salt rye bread", &[], 300), Some("rye bread and salt"));
    }

    #[test]
    fn of_equal_windows_that_with_more_matches_is_taken_and_then_the_first() {
        let hay = "hay ".repeat(200);
        let text = format!("bread {hay} Bread, breads {hay} bread bread");
        assert_eq!(densest(&text, "bread", &[], 300), Some("Bread, breads"));
    }

    #[test]
    fn a_rare_word_beats_two_common_ones() {
        let hay = "hay ".repeat(200);
        let text = format!("one two {hay} three {hay}");
        assert_eq!(densest(&text, "one two three", &[], 300), Some("one two"));
        assert_eq!(densest(&text, "one two three", &[1.0, 1.0, 5.0], 300), Some("three"));
        let unusable = [f64::NAN, -1.0, f64::INFINITY];
        assert_eq!(densest(&text, "one two three", &unusable, 300), Some("one two"));
    }

    #[test]
    fn a_window_is_no_wider_than_what_is_shown() {
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
    fn every_phrase_that_occurs_is_known_wherever_it_stands() {
        let query = FtsQuery::parse("\"rye bread\" salt oven");
        let text = format!("salt {} rye bread", "hay ".repeat(9_999));
        let found = look(&Lookout::new(&query), &[], &text, 300);
        assert_eq!(found.phrases, [true, true, false]);
    }

    /// Every window there is, compared one by one.
    fn worth_of_the_best(text: &str, query: &FtsQuery, weights: &[f64], width: usize) -> f64 {
        let mut all = Vec::new();
        Lookout::new(query).each(text, |match_| {
            all.push(match_);
            ControlFlow::Continue(())
        });
        let characters = |place: Range<usize>| text[place].chars().count();
        let mut best: f64 = 0.0;
        for first in 0..all.len() {
            let mut phrases = std::collections::BTreeSet::new();
            for match_ in &all[first..] {
                let start = all[first].place.start;
                if phrases.is_empty() || characters(start..match_.place.end) <= width {
                    phrases.insert(match_.phrase);
                }
            }
            best = best.max(phrases.iter().map(|phrase| weights[*phrase]).sum());
        }
        best
    }

    #[test]
    fn no_window_is_worth_more_than_the_one_that_is_found() {
        let words = ["rye", "bread", "salt", "wässer", "hay", "straw", "—", "grass, grass"];
        let query = FtsQuery::parse("rye bread salt wasser");
        let weights = [1.0, 2.0, 0.5, 4.0];
        let mut dice = 1_u32;
        for _ in 0..300 {
            let text: Vec<&str> = (0..60)
                .map(|_| {
                    dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    words[(dice >> 16) as usize % words.len()]
                })
                .collect();
            let text = text.join(" ");
            for length in [12, 30, 60] {
                let found = look(&Lookout::new(&query), &weights, &text, length);
                let width = length - length / 8 - 2;
                let best = worth_of_the_best(&text, &query, &weights, width);
                assert!((found.worth.distinct - best).abs() < 1e-9, "{length}: {text}");
            }
        }
    }
}
