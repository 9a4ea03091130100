//! How much of a text is read, and where: snippet, chunk, chunk with
//! siblings, full.

use std::{ops, sync::Arc};

use super::{Finder, FtsQuery, Sizes, chunks, snippet::cut};
use crate::model::{Loc, Mode, Range, Retrieval};

/// What was read of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The text that was read.
    pub text: String,
    /// Which part of the whole it is.
    pub range: Range,
    /// The chunk it was read around, if it was read by chunks.
    pub chunk: Option<usize>,
}

/// The place of a stored chunk in its text, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its number.
    pub index: usize,
    /// Its identifier, if it has one.
    pub uuid: Option<String>,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Span {
    /// Whether this character is in it.
    fn holds(&self, offset: usize) -> bool {
        (self.start..self.end).contains(&offset)
    }
}

/// Reads from `text` what `retrieval` asks for.
///
/// `stored` are the chunks that were stored with it; where there are none, or
/// they are not preferred, the text is cut on the fly. Without a `loc`, the
/// newest of the queries in `about` that occurs in the text says where: there
/// where most of it stands together.
pub fn read(
    text: &str,
    stored: &[Span],
    retrieval: &Retrieval,
    about: &[Arc<FtsQuery>],
) -> Passage {
    match retrieval.mode {
        Mode::Full => full(text, retrieval),
        Mode::Snippet | Mode::Auto => excerpt(text, stored, retrieval, about),
        Mode::Chunk => by_chunks(text, stored, retrieval, about, 0, retrieval.max_chars),
        Mode::ChunkWithSiblings => {
            let budget = Some(retrieval.sibling_budget());
            by_chunks(text, stored, retrieval, about, retrieval.sibling_window, budget)
        }
    }
}

fn full(text: &str, retrieval: &Retrieval) -> Passage {
    let total = text.chars().count();
    let start = retrieval.offset.min(total);
    let most = retrieval.max_chars.unwrap_or(Retrieval::FULL_CAP);
    let end = start.saturating_add(most).min(total);
    Passage { text: slice(text, start..end), range: Range::new(start, end, total), chunk: None }
}

fn excerpt(text: &str, stored: &[Span], retrieval: &Retrieval, about: &[Arc<FtsQuery>]) -> Passage {
    let place = match anchor_offset(&retrieval.loc, stored, true) {
        Some(offset) => Some(byte_range(text, offset)),
        None => densest(text, about, retrieval),
    };
    let piece = cut(text, place, retrieval.snippet_length);
    let start = characters_before(text, piece.shown.start);
    let end = start + text.get(piece.shown).unwrap_or_default().chars().count();
    let range = Range::new(start, end, text.chars().count());
    Passage { text: piece.text, range, chunk: None }
}

fn by_chunks(
    text: &str,
    stored: &[Span],
    retrieval: &Retrieval,
    about: &[Arc<FtsQuery>],
    window: usize,
    budget: Option<usize>,
) -> Passage {
    let total = text.chars().count();
    let cut;
    let as_stored = retrieval.prefer_prechunked && !stored.is_empty();
    let spans = if as_stored {
        stored
    } else {
        let sizes = Sizes {
            chunk: retrieval.chunk_chars,
            overlap: retrieval.overlap_chars,
            whole: retrieval.sibling_budget(),
        };
        cut = cut_spans(text, sizes);
        &cut
    };
    let offset = anchor_offset(&retrieval.loc, spans, as_stored)
        .or_else(|| {
            densest(text, about, retrieval).map(|place| characters_before(text, place.start))
        })
        .unwrap_or(0)
        .min(total);
    // Chunks that overlap share offsets: the one that was named comes first.
    let chosen = if as_stored { named(&retrieval.loc, spans) } else { None };
    let chosen = chosen.filter(|index| spans.get(*index).is_some_and(|span| span.holds(offset)));
    let before = || spans.iter().rposition(|span| span.start <= offset);
    let Some(anchor) = chosen.or_else(before) else {
        return full(text, retrieval);
    };
    let budget = budget.unwrap_or(usize::MAX);
    let mut range = widen(spans, anchor, window, budget);
    if range.len() > budget {
        range = part_of(text, range, offset, budget);
    }
    Passage {
        text: slice(text, range.clone()),
        range: Range::new(range.start, range.end, total),
        chunk: spans.get(anchor).map(|span| span.index),
    }
}

fn cut_spans(text: &str, sizes: Sizes) -> Vec<Span> {
    chunks(text, sizes)
        .into_iter()
        .enumerate()
        .map(|(index, chunk)| Span { index, uuid: None, start: chunk.start, end: chunk.end })
        .collect()
}

/// Where the anchor is, in characters, if the caller or a hit named one.
///
/// A hit names the chunk as it is stored and the offset of the match. Where the
/// text is cut anew, chunks have other numbers, and only the offset counts.
fn anchor_offset(loc: &Loc, spans: &[Span], as_stored: bool) -> Option<usize> {
    match (loc.approx_offset, named(loc, spans).and_then(|index| spans.get(index))) {
        // An offset inside the chunk is the more exact of the two.
        (Some(offset), Some(span)) if as_stored && !span.holds(offset) => Some(span.start),
        (Some(offset), _) => Some(offset),
        (None, Some(span)) => Some(span.start),
        (None, None) => None,
    }
}

/// The place among `spans` of the chunk that the caller or a hit named.
fn named(loc: &Loc, spans: &[Span]) -> Option<usize> {
    spans.iter().position(|span| {
        loc.chunk_uuid.is_some() && span.uuid == loc.chunk_uuid
            || loc.chunk_index == Some(span.index)
    })
}

/// Where most of the newest query that occurs stands together.
fn densest(
    text: &str,
    about: &[Arc<FtsQuery>],
    retrieval: &Retrieval,
) -> Option<ops::Range<usize>> {
    about.iter().find_map(|query| Finder::new(query, retrieval.snippet_length).look(text).densest)
}

/// The anchor and its neighbours, left and right in turn, while they fit.
/// What neighbours share counts once, and is read once.
fn widen(spans: &[Span], anchor: usize, window: usize, budget: usize) -> ops::Range<usize> {
    let Some(centre) = spans.get(anchor) else { return 0..0 };
    let mut range = centre.start..centre.end;
    let (mut left, mut right) = (true, true);
    for distance in 1..=window {
        let before = anchor.checked_sub(distance).and_then(|index| spans.get(index));
        match before.map(|span| span.start.min(range.start)..range.end) {
            Some(wider) if left && wider.len() <= budget => range = wider,
            _ => left = false,
        }
        let after = spans.get(anchor + distance);
        match after.map(|span| range.start..span.end.max(range.end)) {
            Some(wider) if right && wider.len() <= budget => range = wider,
            _ => right = false,
        }
    }
    range
}

/// The part of a chunk around `offset` that the budget allows: as much as fits,
/// cut as chunks are.
fn part_of(
    text: &str,
    chunk: ops::Range<usize>,
    offset: usize,
    budget: usize,
) -> ops::Range<usize> {
    let sizes = Sizes { chunk: budget, overlap: 0, whole: budget };
    let parts = cut_spans(&slice(text, chunk.clone()), sizes);
    let inside = offset.saturating_sub(chunk.start);
    let anchor = parts.iter().rposition(|part| part.start <= inside).unwrap_or(0);
    let part = widen(&parts, anchor, parts.len(), budget);
    chunk.start + part.start..chunk.start + part.end
}

fn slice(text: &str, range: ops::Range<usize>) -> String {
    text.chars().skip(range.start).take(range.len()).collect()
}

fn byte_range(text: &str, characters: usize) -> ops::Range<usize> {
    let at = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    at..at
}

fn characters_before(text: &str, bytes: usize) -> usize {
    text.get(..bytes).unwrap_or_default().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Preferences, RetrievalOptions};

    fn options(mode: Mode) -> RetrievalOptions {
        RetrievalOptions { mode: Some(mode), ..RetrievalOptions::default() }
    }

    fn resolve(options: RetrievalOptions) -> Retrieval {
        Retrieval::resolve(options, &Preferences::default())
    }

    fn story() -> String {
        let sentences: Vec<_> = (0..200)
            .map(|number| format!("Sentence number {number} über 東京 goes here."))
            .collect();
        sentences.join(" ")
    }

    fn about(text: &str) -> Vec<Arc<FtsQuery>> {
        vec![Arc::new(FtsQuery::parse(text))]
    }

    #[test]
    fn siblings_stay_within_the_budget_and_repeat_nothing() {
        let text = story();
        for max_tokens in [1, 7, 50, 333, 5_000] {
            let retrieval = resolve(RetrievalOptions {
                max_tokens: Some(max_tokens),
                chunk_size_tokens: Some(40),
                chunk_overlap_tokens: Some(10),
                sibling_window: Some(10),
                ..options(Mode::ChunkWithSiblings)
            });
            let passage = read(&text, &[], &retrieval, &about("\"number 100\""));
            assert!(passage.text.chars().count().div_ceil(4) <= max_tokens);
            assert!(text.contains(&passage.text), "joined as it stands in the text");
            assert!(max_tokens < 50 || passage.text.contains("number 100 "), "{}", passage.text);
        }
    }

    #[test]
    fn a_wider_window_reads_more_on_both_sides() {
        let text = story();
        let with_window = |window| {
            let retrieval = resolve(RetrievalOptions {
                chunk_size_tokens: Some(40),
                sibling_window: Some(window),
                ..options(Mode::ChunkWithSiblings)
            });
            read(&text, &[], &retrieval, &about("\"number 100\"")).range
        };
        let (none, one, two) = (with_window(0), with_window(1), with_window(2));
        assert!(one.start < none.start && none.end < one.end);
        assert!(two.start < one.start && one.end < two.end);
    }

    #[test]
    fn a_table_is_read_whole_if_the_budget_allows() {
        let rows: Vec<_> = (0..60).map(|row| format!("| größe {row} | {row} |\n")).collect();
        let table = format!("| a | b |\n|---|---|\n{}", rows.concat());
        let text = format!("# Head\n\n{}\n\n{table}\n# Tail\n\n{}", story(), story());
        for mode in [Mode::Chunk, Mode::ChunkWithSiblings] {
            for (chunk_tokens, max_tokens, is_whole) in [
                (100, None, true),
                (100, Some(400), true),
                (2_000, Some(400), true),
                (100, Some(90), false),
            ] {
                let retrieval = resolve(RetrievalOptions {
                    chunk_size_tokens: Some(chunk_tokens),
                    max_tokens,
                    ..options(mode)
                });
                let passage = read(&text, &[], &retrieval, &about("\"größe 30\""));
                assert_eq!(passage.text.contains(&table), is_whole, "{mode:?} {max_tokens:?}");
                assert!(passage.text.contains("| größe 30 | 30 |\n"), "{}", passage.text);
                let budget = max_tokens.map_or(usize::MAX, |tokens| tokens * 4);
                assert!(passage.text.chars().count() <= budget);
            }
        }
    }

    #[test]
    fn a_query_alone_leads_to_where_most_of_it_stands_together() {
        let text = format!("A thimble. {0} Brass thimble, brass bell. {0}", story());
        for mode in [Mode::Snippet, Mode::Chunk, Mode::ChunkWithSiblings] {
            let retrieval =
                resolve(RetrievalOptions { chunk_size_tokens: Some(40), ..options(mode) });
            let passage = read(&text, &[], &retrieval, &about("thimble bell brass"));
            assert!(passage.text.contains("Brass thimble, brass bell."), "{}", passage.text);
        }
    }

    #[test]
    fn a_stored_chunk_is_found_by_number_identifier_and_offset() {
        let text = "aaaa bbbb cccc";
        let span = |index, start, end| Span { index, uuid: Some(format!("u{index}")), start, end };
        let stored = [span(0, 0, 5), span(1, 5, 10), span(2, 10, 14)];
        let locs = [
            Loc { chunk_index: Some(1), ..Loc::default() },
            Loc { chunk_uuid: Some("u1".to_owned()), ..Loc::default() },
            Loc { approx_offset: Some(7), ..Loc::default() },
        ];
        for loc in locs {
            let retrieval = resolve(RetrievalOptions { loc: Some(loc), ..options(Mode::Chunk) });
            let passage = read(text, &stored, &retrieval, &[]);
            assert_eq!((passage.text.as_str(), passage.chunk), ("bbbb ", Some(1)));
        }
    }

    #[test]
    fn of_chunks_that_overlap_the_one_that_was_named_is_read() {
        let span = |index, start, end| Span { index, uuid: None, start, end };
        let stored = [span(0, 0, 6), span(1, 4, 10)];
        for (index, chunk) in [(0, "aaaabb"), (1, "bbbbcc")] {
            let loc = Loc { chunk_index: Some(index), approx_offset: Some(5), ..Loc::default() };
            let retrieval = resolve(RetrievalOptions { loc: Some(loc), ..options(Mode::Chunk) });
            let passage = read("aaaabbbbcc", &stored, &retrieval, &[]);
            assert_eq!((passage.text.as_str(), passage.chunk), (chunk, Some(index)));
        }
    }

    #[test]
    fn a_long_text_is_read_in_full_page_by_page() {
        let text = "é".repeat(Retrieval::FULL_CAP * 2 + 5);
        let (mut offset, mut read_so_far) = (Some(0), 0);
        while let Some(start) = offset {
            let page = read(
                &text,
                &[],
                &resolve(RetrievalOptions { offset: Some(start), ..options(Mode::Full) }),
                &[],
            );
            read_so_far += page.text.chars().count();
            offset = page.range.next_offset;
        }
        assert_eq!(read_so_far, text.chars().count());
    }

    #[test]
    fn an_offset_beyond_the_end_reads_nothing_and_fails_nothing() {
        for mode in [Mode::Full, Mode::Chunk, Mode::ChunkWithSiblings, Mode::Snippet] {
            let loc = Some(Loc { approx_offset: Some(usize::MAX), ..Loc::default() });
            let retrieval =
                resolve(RetrievalOptions { loc, offset: Some(usize::MAX), ..options(mode) });
            let passage = read("short", &[], &retrieval, &[]);
            assert!(passage.text.len() <= 5);
            let empty = read("", &[], &retrieval, &[]);
            assert_eq!(empty.text, "");
        }
    }
}
