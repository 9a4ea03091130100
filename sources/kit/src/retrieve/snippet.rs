//! A short piece of a text around a place in it.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use vademecum_fts5::{is_letter, is_solid};

use super::opening::{Side, opening};

/// Marks where a snippet was cut.
const CUT: char = '…';
/// What may follow a match up to the next space, in characters.
const TAIL: usize = 20;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// What is shown.
    pub(crate) text: String,
    /// Where the last whole word of it ends at the latest, in bytes.
    pub(crate) whole: usize,
    /// Which part of the text it shows, in bytes.
    pub(crate) shown: Range<usize>,
}

/// At most `length` characters of `text` around the place given in bytes, or
/// of its beginning: plain, white space collapsed, cut between words.
pub fn snippet(text: &str, place: Option<Range<usize>>, length: usize) -> String {
    cut(text, place, length).text
}

/// The same, and which part of the text it shows.
pub(crate) fn cut(text: &str, place: Option<Range<usize>>, length: usize) -> Piece {
    let start = place.map_or(0, |place| start_before(text, &place, length));
    let (piece, end) = fill(text, start, length);
    let mid_word = piece.ends_with(CUT) && is_inside_a_word(text, end);
    let whole = if mid_word { start_of_last_word(&piece) } else { piece.len() };
    Piece { text: piece, whole, shown: start..end }
}

/// Fills a snippet from `start` on; tells where in the text it ends.
fn fill(text: &str, start: usize, length: usize) -> (String, usize) {
    let mut piece = String::new();
    // Where the last whole word ends: in the snippet, and in the text.
    let mut cut_at = (0, start);
    let mut at = start;
    let mut left = length.saturating_sub(usize::from(start > 0));
    if start > 0 && length > 0 {
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
    (piece, at)
}

/// Where to begin so that the place is shown: at a sentence if one begins a
/// little before it, else at a word, and never inside of what a reader sees as
/// one character.
fn start_before(text: &str, place: &Range<usize>, length: usize) -> usize {
    if text.len() / 4 <= length && text.chars().count() <= length {
        return 0;
    }
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let after = part(place.end..text.len());
    let shown = part(place.clone()).chars().take(length).count();
    let tail = after.chars().take(TAIL).take_while(|letter| !letter.is_whitespace()).count();
    let spare = length.saturating_sub(shown + tail + 2);
    let rest = after.chars().skip(tail).take(spare).count();
    // Where the text ends soon, what is left over goes before the place.
    let (reach, side) =
        if rest < spare / 2 { (spare - rest, Side::Early) } else { (spare / 2, Side::Late) };
    let before = part(0..place.start);
    let mut back = before.char_indices().rev();
    let far = match reach.checked_sub(1) {
        Some(steps) => back.nth(steps).map_or(0, |(at, _)| at),
        None => place.start,
    };
    let start = if far == 0 { 0 } else { opening(text, far..place.start, side) };
    cluster_start(text, start)
}

/// The beginning of the cluster that a place is in.
pub(super) fn cluster_start(text: &str, place: usize) -> usize {
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) | Err(_) => place,
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
    }
}

/// Whether a word goes on at a place.
fn is_inside_a_word(text: &str, place: usize) -> bool {
    let (before, after) = text.split_at_checked(place).unwrap_or_default();
    let goes_on = |letter: char| is_letter(letter) && !is_solid(letter);
    before.chars().next_back().is_some_and(goes_on) && after.chars().next().is_some_and(goes_on)
}

/// Where the word begins that was cut at the end of a snippet.
fn start_of_last_word(piece: &str) -> usize {
    let kept = piece.trim_end_matches(CUT);
    kept.trim_end_matches(|letter: char| is_letter(letter) && !is_solid(letter)).len()
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
    use crate::retrieve::{Finder, FtsQuery};

    fn around(text: &str, query: &str, length: usize) -> String {
        let query = FtsQuery::parse(query);
        let finder = Finder::new(&query, length);
        snippet(text, finder.look(text).densest, length)
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
