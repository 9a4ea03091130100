//! Where a query's words stand in a text, and a short piece around them.

use std::{collections::VecDeque, ops::ControlFlow, ops::Range};

use unicode_segmentation::UnicodeSegmentation;

use super::{FtsQuery, phrase::Phrase};
use vademecum_fts5::{Kind, each_word, exact_token, stem};

/// Marks where a snippet was cut.
const CUT: char = '…';

impl FtsQuery {
    /// Where the first phrase of the query stands in `text`, in bytes.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let phrases: Vec<&Phrase> = self.phrases().collect();
        let longest = phrases.iter().map(|phrase| phrase.tokens.len()).max()?;
        let mut last: VecDeque<(Vec<String>, usize, usize)> = VecDeque::with_capacity(longest);
        let mut solid: Option<(usize, String)> = None;
        let mut found = None;
        each_word(text, |word| {
            let mut tokens = vec![stem(word.folded, str::to_owned), exact_token(word.folded)];
            tokens.push(format!("={}", word.folded));
            if word.kind == Kind::Solid {
                if let Some((_, before)) = solid.take_if(|(end, _)| *end == word.place.start) {
                    tokens.push(format!("{before}{}", word.folded));
                }
                solid = Some((word.place.end, word.folded.to_owned()));
            }
            match last.back_mut().filter(|(_, _, position)| *position == word.position) {
                Some((there, _, _)) => there.extend(tokens),
                None => last.push_back((tokens, word.place.start, word.position)),
            }
            while last.len() > longest {
                last.pop_front();
            }
            let ends_here = |phrase: &&&Phrase| {
                phrase.tokens.len() <= last.len()
                    && phrase.tokens.iter().rev().zip(last.iter().rev()).all(
                        |(wanted, (there, _, _))| {
                            there.iter().any(|token| {
                                token == wanted
                                    || phrase.prefix
                                        && token
                                            .trim_start_matches('=')
                                            .starts_with(wanted.as_str())
                            })
                        },
                    )
            };
            if let Some(phrase) = phrases.iter().find(ends_here) {
                let start = last.get(last.len() - phrase.tokens.len()).map(|(_, start, _)| *start);
                found = start.map(|start| start..word.place.end);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        found
    }
}

/// At most `length` characters of `text` around the place given in bytes, or
/// of its beginning: plain, white space collapsed, cut between words.
pub fn snippet(text: &str, place: Option<Range<usize>>, length: usize) -> String {
    snippet_of(text, place, length).0
}

/// The same, and which part of the text it shows, in bytes.
pub(crate) fn snippet_of(
    text: &str,
    place: Option<Range<usize>>,
    length: usize,
) -> (String, Range<usize>) {
    let place = place.unwrap_or(0..0);
    let start = window_start(text, &place, length);
    let mut piece = String::new();
    // Where the last whole word ends: in the snippet, and in the text.
    let mut cut_at = (0, start);
    let mut at = start;
    let mut left = length - usize::from(start > 0);
    if start > 0 {
        piece.push(CUT);
    }
    let mut space = false;
    let mut complete = true;
    for cluster in clusters(text.get(start..).unwrap_or_default()) {
        if cluster.chars().all(|letter| letter.is_whitespace() || letter.is_control()) {
            // Only where the mark of the cut would still fit.
            if !space && left > 0 {
                cut_at = (piece.len(), at);
            }
            space = !piece.is_empty() && !piece.ends_with(CUT);
            at += cluster.len();
            continue;
        }
        let size = cluster.chars().count() + usize::from(space);
        if size > left {
            complete = false;
            break;
        }
        if space {
            piece.push(' ');
            space = false;
        }
        piece.push_str(cluster);
        left -= size;
        at += cluster.len();
    }
    if !complete {
        at = end_between_words(&mut piece, cut_at, at, left, length);
    }
    (piece, start..at)
}

/// What a reader sees as one character each. Most text is ASCII, where that is
/// one byte and need not be looked up.
fn clusters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = match rest.as_bytes() {
            [] => return None,
            [b'\r', ..] => rest.graphemes(true).next().map_or(1, str::len),
            [one, next, ..] if one.is_ascii() && next.is_ascii() => 1,
            _ => rest.graphemes(true).next().map_or(rest.len(), str::len),
        };
        let (cluster, after) = rest.split_at(size);
        rest = after;
        Some(cluster)
    })
}

/// Where to begin so that the place is about a third into the snippet.
fn window_start(text: &str, place: &Range<usize>, length: usize) -> usize {
    let matched = text.get(place.clone()).map_or(0, |matched| matched.chars().count());
    let lead = length.saturating_sub(matched) / 3;
    let before = text.get(..place.start).unwrap_or_default();
    let mut start = before.char_indices().rev().take(lead).last().map_or(place.start, |(at, _)| at);
    if before.chars().count() <= lead {
        return 0;
    }
    // Begin with a whole word, if one begins before the place.
    let ahead = text.get(start..place.start).unwrap_or_default();
    if let Some((at, letter)) = ahead.char_indices().find(|(_, letter)| letter.is_whitespace()) {
        start += at + letter.len_utf8();
    }
    let skipped = text.get(start..place.start).unwrap_or_default();
    start + (skipped.len() - skipped.trim_start().len())
}

/// Ends a snippet that was cut; tells where in the text that is.
fn end_between_words(
    piece: &mut String,
    cut_at: (usize, usize),
    at: usize,
    left: usize,
    length: usize,
) -> usize {
    // A word longer than half the snippet is cut where it must be.
    let tail = piece.get(cut_at.0..).unwrap_or_default();
    if cut_at.0 > 0 && tail.chars().count() <= length / 2 {
        piece.truncate(cut_at.0);
        piece.push(CUT);
        return cut_at.1;
    }
    if left > 0 {
        piece.push(CUT);
        return at;
    }
    let last = piece.grapheme_indices(true).next_back();
    match last.map(|(place, cluster)| (place, cluster.len())) {
        Some((place, size)) if length > 1 => {
            piece.truncate(place);
            piece.push(CUT);
            at - size
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str, query: &str, length: usize) -> String {
        snippet(text, FtsQuery::parse(query).find(text), length)
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
                    let stems = (
                        stem(&asked.to_lowercase(), str::to_owned),
                        stem(&written.to_lowercase(), str::to_owned),
                    );
                    let found = FtsQuery::parse(asked).find(written).is_some();
                    assert_eq!(found, stems.0 == stems.1, "{asked} in {written}: {stems:?}");
                }
            }
        }
    }

    #[test]
    fn a_run_without_spaces_is_found_inside_another() {
        let text = "昨日、東京都へ行った";
        assert_eq!(FtsQuery::parse("京都").find(text).map(|place| &text[place]), Some("京都"));
    }

    #[test]
    fn a_snippet_is_never_longer_than_asked_and_shows_the_match() {
        let text = format!("{} needle {}", "hay ".repeat(500), "straw ".repeat(500));
        for length in [1, 2, 10, 50, 300, 1_000] {
            let piece = around(&text, "needle", length);
            assert!(piece.chars().count() <= length, "{length}: {piece}");
            assert!(length < 10 || piece.contains("needle"), "{length}: {piece}");
        }
    }

    #[test]
    fn white_space_and_control_characters_collapse() {
        assert_eq!(around("a\n\n\tb\u{0}\r\n  c ", "b", 300), "a b c");
    }

    #[test]
    fn a_short_text_is_shown_whole_and_a_long_one_from_its_beginning() {
        assert_eq!(around("one two", "zzz", 300), "one two");
        assert_eq!(around("one two three four", "zzz", 9), "one two…");
    }

    #[test]
    fn a_cut_never_splits_what_belongs_together() {
        let family = "👨‍👩‍👧‍👦";
        let text = family.repeat(20);
        for length in 1..30 {
            let piece = snippet(&text, None, length);
            let whole =
                piece.trim_end_matches(CUT).graphemes(true).all(|cluster| cluster == family);
            assert!(whole && piece.chars().count() <= length, "{length}: {piece}");
        }
    }
}
