//! Snippets: short excerpts of a text around a position.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};
use vademecum_fts5::{is_letter, is_unspaced};

use super::sentence_boundary::{SentencePreference, find_snippet_start};

/// Marks a truncated end of a snippet.
const ELLIPSIS: char = '…';
/// Maximum number of characters that a match may be extended by up to the next space.
const MAX_TAIL_CHARS: usize = 20;

/// A snippet with its source range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutSnippet {
    /// Plain text with collapsed white space.
    pub(crate) text: String,
    /// End of the last whole word in the snippet, as a byte offset.
    pub(crate) whole_words_end: usize,
    /// Byte range of the source text that the snippet shows.
    pub(crate) source_range: Range<usize>,
}

/// Returns at most `length` characters of `text` around the byte range `place`, or from its
/// beginning for `None`. The result is plain text with collapsed white space, cut between words.
pub fn make_snippet(text: &str, place: Option<Range<usize>>, length: usize) -> String {
    cut_snippet(text, place, length).text
}

/// Cuts a snippet as [`make_snippet`] does and returns its source range as well.
pub(crate) fn cut_snippet(text: &str, place: Option<Range<usize>>, length: usize) -> CutSnippet {
    let start = place.map_or(0, |place| snippet_start(text, &place, length));
    let (piece, end) = fill_snippet(text, start, length);
    let mid_word = piece.ends_with(ELLIPSIS) && is_inside_word(text, end);
    let whole = if mid_word { last_word_start(&piece) } else { piece.len() };
    CutSnippet { text: piece, whole_words_end: whole, source_range: start..end }
}

/// Fills a snippet from `start` and returns it with its end in the text.
fn fill_snippet(text: &str, start: usize, length: usize) -> (String, usize) {
    let mut piece = String::with_capacity(length.min(text.len()) + ELLIPSIS.len_utf8());
    // End of the last whole word, in the snippet and in the text.
    let mut cut_at = (0, start);
    let mut at = start;
    let mut left = length.saturating_sub(usize::from(start > 0));
    if start > 0 && length > 0 {
        piece.push(ELLIPSIS);
    }
    let mut space = false;
    let mut complete = true;
    for cluster in grapheme_clusters(text.get(start..).unwrap_or_default()) {
        if cluster.chars().all(|letter| letter.is_whitespace() || letter.is_control()) {
            // Only where the ellipsis still fits.
            if !space && left > 0 {
                cut_at = (piece.len(), at);
            }
            space = !piece.is_empty() && !piece.ends_with(ELLIPSIS);
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
        at = truncate_at_word(&mut piece, cut_at, at, left, length);
    }
    (piece, at)
}

/// Returns the start of a snippet that shows `place`: a sentence start shortly before it, else a
/// word start. Never splits a grapheme cluster.
fn snippet_start(text: &str, place: &Range<usize>, length: usize) -> usize {
    if text.len() / 4 <= length && text.chars().count() <= length {
        return 0;
    }
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let after = part(place.end..text.len());
    let shown = part(place.clone()).chars().take(length).count();
    let tail =
        after.chars().take(MAX_TAIL_CHARS).take_while(|letter| !letter.is_whitespace()).count();
    let spare = length.saturating_sub(shown + tail + 2);
    let rest = after.chars().skip(tail).take(spare).count();
    // Near the end of the text, the unused space goes before the match.
    let (reach, side) = if rest < spare / 2 {
        (spare - rest, SentencePreference::First)
    } else {
        (spare / 2, SentencePreference::Last)
    };
    let before = part(0..place.start);
    let mut back = before.char_indices().rev();
    let far = match reach.checked_sub(1) {
        Some(steps) => back.nth(steps).map_or(0, |(at, _)| at),
        None => place.start,
    };
    let start = if far == 0 { 0 } else { find_snippet_start(text, far..place.start, side) };
    grapheme_start(text, start)
}

/// Returns the start of the grapheme cluster that contains a byte position.
pub(super) fn grapheme_start(text: &str, place: usize) -> usize {
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) | Err(_) => place,
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
    }
}

/// Returns whether a position is inside a word.
fn is_inside_word(text: &str, place: usize) -> bool {
    let (before, after) = text.split_at_checked(place).unwrap_or_default();
    let goes_on = |letter: char| is_letter(letter) && !is_unspaced(letter);
    before.chars().next_back().is_some_and(goes_on) && after.chars().next().is_some_and(goes_on)
}

/// Returns the start of the word that was truncated at the end of a snippet.
fn last_word_start(piece: &str) -> usize {
    let kept = piece.trim_end_matches(ELLIPSIS);
    kept.trim_end_matches(|letter: char| is_letter(letter) && !is_unspaced(letter)).len()
}

/// Iterates over grapheme clusters, with a fast path for ASCII.
fn grapheme_clusters(text: &str) -> impl Iterator<Item = &str> {
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

/// Ends a truncated snippet at a word boundary and returns the end in the text.
fn truncate_at_word(
    piece: &mut String,
    cut_at: (usize, usize),
    at: usize,
    left: usize,
    length: usize,
) -> usize {
    // A word longer than half the snippet is cut in the middle.
    let tail = piece.get(cut_at.0..).unwrap_or_default();
    if cut_at.0 > 0 && tail.chars().count() <= length / 2 {
        piece.truncate(cut_at.0);
        piece.push(ELLIPSIS);
        return cut_at.1;
    }
    if left > 0 {
        piece.push(ELLIPSIS);
        return at;
    }
    let last = piece.grapheme_indices(true).next_back();
    match last.map(|(place, cluster)| (place, cluster.len())) {
        Some((place, size)) if length > 1 => {
            piece.truncate(place);
            piece.push(ELLIPSIS);
            at - size
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FtsQuery, Highlighter};

    fn snippet_around(text: &str, query: &str, length: usize) -> String {
        let query = FtsQuery::parse(query);
        let finder = Highlighter::new(&query, length);
        make_snippet(text, finder.find_matches(text).densest, length)
    }

    #[test]
    fn snippet_shows_match_within_length() {
        let text = format!("{} needle {}", "hay ".repeat(500), "straw ".repeat(500));
        for length in [1, 2, 10, 50, 300, 1_000] {
            let piece = snippet_around(&text, "needle", length);
            assert!(piece.chars().count() <= length, "{length}: {piece}");
            assert!(length < 10 || piece.contains("needle"), "{length}: {piece}");
        }
    }

    #[test]
    fn snippet_collapses_white_space_and_control_characters() {
        assert_eq!(snippet_around("a\n\n\tb\u{0}\r\n  c ", "b", 300), "a b c");
    }

    #[test]
    fn snippet_without_match_shows_beginning() {
        assert_eq!(snippet_around("one two", "zzz", 300), "one two");
        assert_eq!(snippet_around("one two three four", "zzz", 9), "one two…");
    }

    #[test]
    fn snippet_never_splits_grapheme_clusters() {
        let family = "👨‍👩‍👧‍👦";
        let text = family.repeat(20);
        for length in 1..30 {
            let piece = make_snippet(&text, None, length);
            let whole =
                piece.trim_end_matches(ELLIPSIS).graphemes(true).all(|cluster| cluster == family);
            assert!(whole && piece.chars().count() <= length, "{length}: {piece}");
        }
    }
}
