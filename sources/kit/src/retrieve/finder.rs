//! What a list of results shows of a text: a snippet where most of the query
//! stands together, what is highlighted in it, and which words were found.

use std::{
    collections::HashSet,
    ops::{ControlFlow, Range},
};

use vademecum_fts5::{Kind, each_word, stem};

use super::{
    FtsQuery,
    lookout::Lookout,
    snippet::cut,
    window::{Found, look},
};
use crate::model::{Highlight, View};

/// A query, ready to be looked for in the texts of many items.
#[derive(Clone, Debug)]
pub struct Finder<'v> {
    lookout: Lookout<'v>,
    query: &'v FtsQuery,
    weights: &'v [f64],
    snippet_length: usize,
    highlight: bool,
}

/// A snippet, and what is highlighted in it if that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The snippet.
    pub snippet: String,
    /// The places in it where the query matches.
    pub highlights: Option<Vec<Highlight>>,
}

impl<'v> Finder<'v> {
    /// Finds what `query` looks for, to be shown in so many characters.
    pub fn new(query: &'v FtsQuery, snippet_length: usize) -> Self {
        let lookout = Lookout::new(query);
        Self { lookout, query, weights: &[], snippet_length, highlight: false }
    }

    /// From now on, what is found is to be shown in so many characters.
    pub fn show_in(&mut self, snippet_length: usize) {
        self.snippet_length = snippet_length;
    }

    /// Looks through a text.
    pub fn look(&self, text: &str) -> Found {
        look(&self.lookout, self.weights, text, self.snippet_length)
    }

    /// A snippet of `text` around a place in it, or of its beginning.
    pub fn excerpt(&self, text: &str, place: Option<Range<usize>>) -> Excerpt {
        let piece = cut(text, place, self.snippet_length);
        let highlights = self.highlight.then(|| self.highlights(&piece.text, piece.whole));
        Excerpt { snippet: piece.text, highlights }
    }

    /// The words of the query, as they were typed, that occur in an item: in
    /// what was `found` in its text or in `others`. None if nobody wants them.
    pub fn matched(&self, found: &Found, others: &[&str]) -> Option<Vec<String>> {
        if !self.highlight {
            return None;
        }
        let mut found = found.clone();
        for text in others {
            found.add(&self.look(text));
        }
        Some(self.typed_words(&found))
    }

    /// Where the query matches in a snippet, up to the end of its last whole word.
    fn highlights(&self, snippet: &str, whole: usize) -> Vec<Highlight> {
        let mut places: Vec<Range<usize>> = Vec::new();
        self.lookout.each(snippet, |match_| {
            let mut place = match_.place;
            if place.end > whole {
                return ControlFlow::Continue(());
            }
            while let Some(last) = places.pop_if(|last| last.end > place.start) {
                place = place.start.min(last.start)..place.end.max(last.end);
            }
            places.push(place);
            ControlFlow::Continue(())
        });
        let (mut at, mut characters) = (0, 0);
        let mut count_to = |bytes: usize| {
            characters += snippet.get(at..bytes).unwrap_or_default().chars().count();
            at = bytes;
            characters
        };
        let in_characters = |place: Range<usize>| Highlight {
            start: count_to(place.start),
            end: count_to(place.end),
        };
        places.into_iter().map(in_characters).collect()
    }

    /// The typed words that are part of a phrase which occurs. Neighbours of a
    /// run without spaces are one word.
    fn typed_words(&self, found: &Found) -> Vec<String> {
        let typed = self.query.typed();
        let occurs = |phrase: usize| found.phrases.get(phrase).is_some_and(|occurs| *occurs);
        let mut places: Vec<(Range<usize>, bool)> = Vec::new();
        each_word(typed, |word| {
            let solid = word.kind == Kind::Solid;
            if self.lookout.is_in(word.folded, occurs) {
                match places.last_mut() {
                    // A part of a name that is there already.
                    Some((last, _)) if word.place.start < last.end => {}
                    Some((last, true)) if solid && last.end == word.place.start => {
                        last.end = word.place.end;
                    }
                    _ => places.push((word.place, solid)),
                }
            }
            ControlFlow::Continue(())
        });
        let mut known = HashSet::new();
        let words = places.into_iter().filter_map(|(place, _)| typed.get(place));
        words
            .filter(|word| known.insert(stem(&word.to_lowercase(), str::to_owned)))
            .map(str::to_owned)
            .collect()
    }
}

impl<'v> From<&'v View> for Finder<'v> {
    fn from(view: &'v View) -> Self {
        let finder = Self::new(&view.query, view.snippet_length);
        Self { weights: &view.weights, highlight: view.highlight, ..finder }
    }
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    /// What is shown of a text, what is highlighted in it, and what was found.
    fn show(text: &str, query: &str, length: usize) -> (String, Vec<String>, Vec<String>) {
        let query = FtsQuery::parse(query);
        let finder = Finder { highlight: true, ..Finder::new(&query, length) };
        let found = finder.look(text);
        let matched = finder.matched(&found, &[]).unwrap();
        let Excerpt { snippet, highlights } = finder.excerpt(text, found.densest);
        let letters: Vec<char> = snippet.chars().collect();
        let highlights = highlights.unwrap();
        assert!(highlights.is_sorted_by(|one, next| one.end <= next.start), "{highlights:?}");
        let slices =
            highlights.iter().map(|place| letters[place.start..place.end].iter().collect());
        (snippet, slices.collect(), matched)
    }

    #[test]
    fn what_is_highlighted_is_what_matches() {
        let text = "\n We were kneading\tthe  Pâte. The rye\n\nbread of 東京都 is kneaded.";
        let (snippet, slices, _) = show(text, "knead pate \"rye bread\" bread 東京都", 300);
        assert_eq!(slices, ["kneading", "Pâte", "rye bread", "東京都", "kneaded"], "{snippet}");
    }

    #[test]
    fn a_word_that_was_cut_is_not_highlighted() {
        let (snippet, slices, _) = show(&"knead".repeat(9), "knead", 9);
        assert_eq!((snippet.as_str(), slices.len()), ("kneadkne…", 0));
        let text = format!("knead {}", "kneadings".repeat(9));
        let (snippet, slices, _) = show(&text, "knead", 12);
        assert_eq!((snippet.as_str(), slices.len()), ("knead knead…", 1));
    }

    #[test]
    fn matched_words_are_those_that_were_typed_in_the_order_they_were_typed() {
        let text = "Rye and BREAD from Crème. 東京 and 都の京";
        let (_, _, matched) = show(text, "the breads, creme? oven Rye bread -salt", 300);
        assert_eq!(matched, ["breads", "creme", "Rye"]);
        assert_eq!(show(text, "東京都", 300).2, ["東京"]);
        assert_eq!(show("東京都", "東京都 東京都", 300).2, ["東京都"]);
        assert_eq!(show("rye bread", "\"Rye bread\" bread", 300).2, ["Rye", "bread"]);
    }

    #[test]
    fn what_occurs_elsewhere_in_the_item_is_matched_too() {
        let query = FtsQuery::parse("bread oven");
        let finder = Finder { highlight: true, ..Finder::new(&query, 300) };
        let found = finder.look("Bread.");
        assert_eq!(finder.matched(&found, &["Ovens"]), Some(vec!["bread".into(), "oven".into()]));
    }

    #[test]
    fn nothing_is_highlighted_unless_it_is_wanted() {
        let query = FtsQuery::parse("bread");
        let finder = Finder::new(&query, 300);
        let found = finder.look("bread");
        assert_eq!(finder.matched(&found, &[]), None);
        assert_eq!(finder.excerpt("bread", found.densest).highlights, None);
    }

    /// Words, marks and what is easily cut in the wrong place, at random.
    fn patchwork(seed: u32) -> String {
        let patches = [
            "needle",
            "Nädeln",
            "pin",
            "hay",
            "straw. Grass",
            "👨\u{200d}👩\u{200d}👧",
            "e\u{301}e\u{301}",
            "กำลัง",
            "\r\n\r\n",
            "  \t ",
            "🇩🇪🇫🇷",
            "昨日、東京都へ。",
            "\u{0}",
            "한글",
            "a-b/c",
            "x\u{301}",
            "ﷺ",
            "(needles)",
        ];
        let mut dice = seed;
        let mut text = String::new();
        for _ in 0..200 {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(patches[(dice >> 16) as usize % patches.len()]);
            if dice >> 30 != 0 {
                text.push(' ');
            }
        }
        text
    }

    #[test]
    fn whatever_the_text_a_snippet_keeps_its_promises() {
        let query = FtsQuery::parse("needle nadel pin 東京都 \"straw grass\"");
        for seed in 0..60 {
            let text = patchwork(seed);
            let whole: HashSet<&str> = text.graphemes(true).collect();
            for length in [1, 2, 3, 7, 20, 60, 300, 1_000] {
                let finder = Finder { highlight: true, ..Finder::new(&query, length) };
                let found = finder.look(&text);
                let Excerpt { snippet, highlights } = finder.excerpt(&text, found.densest);
                assert!(snippet.chars().count() <= length, "{length}: {snippet}");
                assert!(!snippet.contains("  ") && snippet.trim() == snippet, "{snippet:?}");
                for cluster in snippet.trim_matches('…').graphemes(true).filter(|one| *one != " ")
                {
                    assert!(whole.contains(cluster), "{seed} {length}: {cluster:?} in {snippet}");
                }
                let letters: Vec<char> = snippet.chars().collect();
                for place in highlights.unwrap() {
                    let slice: String = letters[place.start..place.end].iter().collect();
                    let place = query.find(&slice).map(|place| place.start);
                    assert_eq!(place, Some(0), "{seed} {length}: {slice} in {snippet}");
                }
            }
        }
    }

    #[test]
    fn everything_in_the_densest_window_is_shown() {
        let query = FtsQuery::parse("needle nadel pin 東京都 \"straw grass\"");
        for seed in 0..60 {
            let text = patchwork(seed);
            for length in [60, 300, 1_000] {
                let finder = Finder { highlight: true, ..Finder::new(&query, length) };
                let found = finder.look(&text);
                let window = &text[found.densest.clone().unwrap()];
                let snippet = finder.excerpt(&text, found.densest).snippet;
                let (there, shown) = (finder.look(window), finder.look(&snippet));
                let kept = there.phrases.iter().zip(&shown.phrases).all(|(was, is)| *is || !was);
                assert!(kept, "{seed} {length}: {window} in {snippet}");
            }
        }
    }
}
