//! Snippets, highlights and matched query words for a result list.

use std::{
    collections::HashSet,
    ops::{ControlFlow, Range},
};

use vademecum_fts5::{WordKind, for_each_word};
use vademecum_model::Highlight;

use super::{
    FtsQuery,
    phrase::word_key,
    phrase_matcher::PhraseMatcher,
    snippet::cut_snippet,
    snippet_window::{TextMatches, find_densest_window},
};
use crate::HitRequest;

/// A query prepared for finding matches in many texts.
#[derive(Clone, Debug)]
pub struct Highlighter<'v> {
    matcher: PhraseMatcher<'v>,
    query: &'v FtsQuery,
    weights: &'v [f64],
    snippet_length: usize,
    highlight: bool,
}

/// A snippet with its highlights, if requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Text of the snippet.
    pub snippet: String,
    /// Ranges of the snippet that match the query.
    pub highlights: Option<Vec<Highlight>>,
}

impl<'v> Highlighter<'v> {
    /// Creates a highlighter for `query` with the given maximum snippet length, in characters.
    pub fn new(query: &'v FtsQuery, snippet_length: usize) -> Self {
        let matcher = PhraseMatcher::new(query);
        Self { matcher, query, weights: &[], snippet_length, highlight: false }
    }

    /// Sets the maximum snippet length, in characters.
    pub fn set_snippet_length(&mut self, snippet_length: usize) {
        self.snippet_length = snippet_length;
    }

    /// Finds the matches in a text and the window with the best coverage of the query.
    pub fn find_matches(&self, text: &str) -> TextMatches {
        find_densest_window(&self.matcher, self.weights, text, self.snippet_length)
    }

    /// Returns a snippet of `text` around a byte range, or its beginning for `None`.
    pub fn make_excerpt(&self, text: &str, place: Option<Range<usize>>) -> Excerpt {
        let piece = cut_snippet(text, place, self.snippet_length);
        let highlights =
            self.highlight.then(|| self.find_highlights(&piece.text, piece.whole_words_end));
        Excerpt { snippet: piece.text, highlights }
    }

    /// Returns the query words, as typed, that occur in an item: in the text of `found` or in
    /// `others`. Returns `None` if highlighting is off.
    pub fn matched_words(&self, found: &TextMatches, others: &[&str]) -> Option<Vec<String>> {
        if !self.highlight {
            return None;
        }
        let mut found = found.clone();
        for text in others {
            found.merge_phrases(&self.find_matches(text));
        }
        Some(self.typed_words_of(&found))
    }

    /// Returns the matching ranges of a snippet, up to the end of its last whole word.
    fn find_highlights(&self, snippet: &str, whole: usize) -> Vec<Highlight> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        self.matcher.for_each_match(snippet, |match_| {
            let mut place = match_.range;
            if place.end > whole {
                return ControlFlow::Continue(());
            }
            while let Some(last) = ranges.pop_if(|last| last.end > place.start) {
                place = place.start.min(last.start)..place.end.max(last.end);
            }
            ranges.push(place);
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
        ranges.into_iter().map(in_characters).collect()
    }

    /// Returns the typed words of all phrases that occur. Adjacent characters of a script without
    /// spaces count as one word.
    fn typed_words_of(&self, found: &TextMatches) -> Vec<String> {
        let typed = self.query.typed();
        let occurs = |phrase: usize| found.phrases.get(phrase).is_some_and(|occurs| *occurs);
        let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
        for_each_word(typed, |word| {
            let solid = word.kind == WordKind::Unspaced;
            if self.matcher.is_phrase_word(&word, occurs) {
                match ranges.last_mut() {
                    // A part of a compound name that is already included.
                    Some((last, _)) if word.range.start < last.end => {}
                    Some((last, true)) if solid && last.end == word.range.start => {
                        last.end = word.range.end;
                    }
                    _ => ranges.push((word.range, solid)),
                }
            }
            ControlFlow::Continue(())
        });
        let mut known = HashSet::new();
        let words = ranges.into_iter().filter_map(|(place, _)| typed.get(place));
        words
            .filter(|word| known.insert(word_key(&word.to_lowercase())))
            .map(str::to_owned)
            .collect()
    }
}

impl<'v> From<&'v HitRequest> for Highlighter<'v> {
    fn from(view: &'v HitRequest) -> Self {
        let finder = Self::new(&view.query, view.snippet_length);
        Self { weights: &view.weights, highlight: view.highlight, ..finder }
    }
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    /// Returns the snippet of a text, the highlighted parts and the matched words.
    fn highlight_text(
        text: &str,
        query: &str,
        length: usize,
    ) -> (String, Vec<String>, Vec<String>) {
        let query = FtsQuery::parse(query);
        let finder = Highlighter { highlight: true, ..Highlighter::new(&query, length) };
        let found = finder.find_matches(text);
        let matched = finder.matched_words(&found, &[]).unwrap();
        let Excerpt { snippet, highlights } = finder.make_excerpt(text, found.densest);
        let letters: Vec<char> = snippet.chars().collect();
        let highlights = highlights.unwrap();
        assert!(highlights.is_sorted_by(|one, next| one.end <= next.start), "{highlights:?}");
        let slices =
            highlights.iter().map(|place| letters[place.start..place.end].iter().collect());
        (snippet, slices.collect(), matched)
    }

    #[test]
    fn highlights_cover_matches() {
        let text = "\n We were kneading\tthe  Pâte. The rye\n\nbread of 東京都 is kneaded.";
        let (snippet, slices, _) =
            highlight_text(text, "knead pate \"rye bread\" bread 東京都", 300);
        assert_eq!(slices, ["kneading", "Pâte", "rye bread", "東京都", "kneaded"], "{snippet}");
    }

    #[test]
    fn highlights_skip_truncated_words() {
        let (snippet, slices, _) = highlight_text(&"knead".repeat(9), "knead", 9);
        assert_eq!((snippet.as_str(), slices.len()), ("kneadkne…", 0));
        let text = format!("knead {}", "kneadings".repeat(9));
        let (snippet, slices, _) = highlight_text(&text, "knead", 12);
        assert_eq!((snippet.as_str(), slices.len()), ("knead knead…", 1));
    }

    #[test]
    fn matched_words_keep_typed_form_and_order() {
        let text = "Rye and BREAD from Crème. 東京 and 都の京";
        let (_, _, matched) = highlight_text(text, "the breads, creme? oven Rye bread -salt", 300);
        assert_eq!(matched, ["breads", "creme", "Rye"]);
        assert_eq!(highlight_text(text, "東京都", 300).2, ["東京"]);
        assert_eq!(highlight_text("東京都", "東京都 東京都", 300).2, ["東京都"]);
        assert_eq!(highlight_text("rye bread", "\"Rye bread\" bread", 300).2, ["Rye", "bread"]);
    }

    #[test]
    fn matched_words_include_other_texts() {
        let query = FtsQuery::parse("bread oven");
        let finder = Highlighter { highlight: true, ..Highlighter::new(&query, 300) };
        let found = finder.find_matches("Bread.");
        assert_eq!(
            finder.matched_words(&found, &["Ovens"]),
            Some(vec!["bread".into(), "oven".into()])
        );
    }

    #[test]
    fn highlights_are_absent_unless_requested() {
        let query = FtsQuery::parse("bread");
        let finder = Highlighter::new(&query, 300);
        let found = finder.find_matches("bread");
        assert_eq!(finder.matched_words(&found, &[]), None);
        assert_eq!(finder.make_excerpt("bread", found.densest).highlights, None);
    }

    /// Returns a pseudo-random text of words, marks and sequences that are easily cut at the wrong
    /// position.
    fn random_text(seed: u32) -> String {
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
        let mut rng = seed;
        let mut text = String::new();
        for _ in 0..200 {
            rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(patches[(rng >> 16) as usize % patches.len()]);
            if rng >> 30 != 0 {
                text.push(' ');
            }
        }
        text
    }

    #[test]
    fn snippet_keeps_invariants_on_random_text() {
        let query = FtsQuery::parse("needle nadel pin 東京都 \"straw grass\"");
        for seed in 0..60 {
            let text = random_text(seed);
            let whole: HashSet<&str> = text.graphemes(true).collect();
            for length in [1, 2, 3, 7, 20, 60, 300, 1_000] {
                let finder = Highlighter { highlight: true, ..Highlighter::new(&query, length) };
                let found = finder.find_matches(&text);
                let Excerpt { snippet, highlights } = finder.make_excerpt(&text, found.densest);
                assert!(snippet.chars().count() <= length, "{length}: {snippet}");
                assert!(!snippet.contains("  ") && snippet.trim() == snippet, "{snippet:?}");
                for cluster in snippet.trim_matches('…').graphemes(true).filter(|one| *one != " ")
                {
                    assert!(whole.contains(cluster), "{seed} {length}: {cluster:?} in {snippet}");
                }
                let letters: Vec<char> = snippet.chars().collect();
                for place in highlights.unwrap() {
                    let slice: String = letters[place.start..place.end].iter().collect();
                    let place = query.find_first_match(&slice).map(|place| place.start);
                    assert_eq!(place, Some(0), "{seed} {length}: {slice} in {snippet}");
                }
            }
        }
    }

    #[test]
    fn snippet_shows_whole_densest_window() {
        let query = FtsQuery::parse("needle nadel pin 東京都 \"straw grass\"");
        for seed in 0..60 {
            let text = random_text(seed);
            for length in [60, 300, 1_000] {
                let finder = Highlighter { highlight: true, ..Highlighter::new(&query, length) };
                let found = finder.find_matches(&text);
                let window = &text[found.densest.clone().unwrap()];
                let snippet = finder.make_excerpt(&text, found.densest).snippet;
                let (there, shown) = (finder.find_matches(window), finder.find_matches(&snippet));
                let kept = there.phrases.iter().zip(&shown.phrases).all(|(was, is)| *is || !was);
                assert!(kept, "{seed} {length}: {window} in {snippet}");
            }
        }
    }
}
