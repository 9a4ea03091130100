//! Passages: reads a snippet, a chunk, a chunk with siblings, or the full text.

use std::{ops, sync::Arc};

use vademecum_model::{Loc, Range, Retrieval, RetrievalMode};

use super::{ChunkSizes, FtsQuery, Highlighter, snippet::cut_snippet, split_into_chunks};

/// A passage read from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Text of the range.
    pub text: String,
    /// Range of the passage in the whole text.
    pub range: Range,
    /// Index of the anchor chunk, if the text was read by chunks.
    pub chunk: Option<usize>,
    /// Language of the whole text (ISO 639-1), if it is known.
    pub language: Option<&'static str>,
}

/// Position of a chunk in its text, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Index of the chunk.
    pub index: usize,
    /// Identifier of the chunk, if it has one.
    pub uuid: Option<String>,
    /// Start, counted from 0.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
}

impl ChunkSpan {
    /// Returns whether the chunk contains a character offset.
    fn contains(&self, offset: usize) -> bool {
        (self.start..self.end).contains(&offset)
    }
}

/// Reads the passage of `text` that `retrieval` requests.
///
/// `stored` are the chunks stored with the text; if there are none, or they are not preferred, the
/// text is chunked here. Without a `loc`, the position is the densest window of the newest query in
/// `about` that occurs in the text.
pub fn read_passage(
    text: &str,
    stored: &[ChunkSpan],
    retrieval: &Retrieval,
    about: &[Arc<FtsQuery>],
) -> Passage {
    match retrieval.mode {
        RetrievalMode::Full => read_full(text, retrieval),
        RetrievalMode::Snippet | RetrievalMode::Auto => {
            read_snippet(text, stored, retrieval, about)
        }
        RetrievalMode::Chunk => read_chunks(text, stored, retrieval, about, 0, retrieval.max_chars),
        RetrievalMode::ChunkWithSiblings => {
            let budget = Some(retrieval.sibling_budget());
            read_chunks(text, stored, retrieval, about, retrieval.sibling_window, budget)
        }
    }
}

fn read_full(text: &str, retrieval: &Retrieval) -> Passage {
    let total = text.chars().count();
    let start = retrieval.offset.min(total);
    let most = retrieval.max_chars.unwrap_or(Retrieval::MAX_RESPONSE_CHARS);
    let end = start.saturating_add(most).min(total);
    Passage {
        text: slice_chars(text, start..end),
        range: Range::new(start, end, total),
        chunk: None,
        language: None,
    }
}

fn read_snippet(
    text: &str,
    stored: &[ChunkSpan],
    retrieval: &Retrieval,
    about: &[Arc<FtsQuery>],
) -> Passage {
    let place = match anchor_offset(&retrieval.loc, stored, true) {
        Some(offset) => Some(byte_position(text, offset)),
        None => find_densest_range(text, about, retrieval),
    };
    let piece = cut_snippet(text, place, retrieval.snippet_length);
    let start = chars_before(text, piece.source_range.start);
    let end = start + text.get(piece.source_range).unwrap_or_default().chars().count();
    let range = Range::new(start, end, text.chars().count());
    Passage { text: piece.text, range, chunk: None, language: None }
}

fn read_chunks(
    text: &str,
    stored: &[ChunkSpan],
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
        let sizes = ChunkSizes {
            chunk: retrieval.chunk_chars,
            overlap: retrieval.overlap_chars,
            max_block: retrieval.sibling_budget(),
        };
        cut = split_spans(text, sizes);
        &cut
    };
    let offset = anchor_offset(&retrieval.loc, spans, as_stored)
        .or_else(|| {
            find_densest_range(text, about, retrieval).map(|place| chars_before(text, place.start))
        })
        .unwrap_or(0)
        .min(total);
    // Overlapping chunks share offsets, so a chunk named by the caller takes precedence.
    let chosen = if as_stored { find_named_span(&retrieval.loc, spans) } else { None };
    let chosen = chosen.filter(|index| spans.get(*index).is_some_and(|span| span.contains(offset)));
    let before = || spans.iter().rposition(|span| span.start <= offset);
    let Some(anchor) = chosen.or_else(before) else {
        return read_full(text, retrieval);
    };
    let budget = budget.unwrap_or(usize::MAX);
    let mut range = add_siblings(spans, anchor, window, budget);
    if range.len() > budget {
        range = trim_to_budget(text, range, offset, budget);
    }
    Passage {
        text: slice_chars(text, range.clone()),
        range: Range::new(range.start, range.end, total),
        chunk: spans.get(anchor).map(|span| span.index),
        language: None,
    }
}

fn split_spans(text: &str, sizes: ChunkSizes) -> Vec<ChunkSpan> {
    split_into_chunks(text, sizes)
        .into_iter()
        .enumerate()
        .map(|(index, chunk)| ChunkSpan { index, uuid: None, start: chunk.start, end: chunk.end })
        .collect()
}

/// Returns the character offset of the anchor, if the `loc` names one.
///
/// A hit names the stored chunk and the offset of the match. If the text is chunked here, chunk
/// numbers differ and only the offset is used.
fn anchor_offset(loc: &Loc, spans: &[ChunkSpan], as_stored: bool) -> Option<usize> {
    match (loc.approx_offset, find_named_span(loc, spans).and_then(|index| spans.get(index))) {
        // An offset inside the chunk is more precise than the chunk start.
        (Some(offset), Some(span)) if as_stored && !span.contains(offset) => Some(span.start),
        (Some(offset), _) => Some(offset),
        (None, Some(span)) => Some(span.start),
        (None, None) => None,
    }
}

/// Returns the index in `spans` of the chunk that the `loc` names.
fn find_named_span(loc: &Loc, spans: &[ChunkSpan]) -> Option<usize> {
    spans.iter().position(|span| {
        loc.chunk_uuid.is_some() && span.uuid == loc.chunk_uuid
            || loc.chunk_index == Some(span.index)
    })
}

/// Returns the densest window of the newest query that occurs in the text.
fn find_densest_range(
    text: &str,
    about: &[Arc<FtsQuery>],
    retrieval: &Retrieval,
) -> Option<ops::Range<usize>> {
    about.iter().find_map(|query| {
        Highlighter::new(query, retrieval.snippet_length).find_matches(text).densest
    })
}

/// Extends the anchor chunk by its neighbours, alternating left and right, within the budget.
/// Overlapping text counts once and is read once.
fn add_siblings(
    spans: &[ChunkSpan],
    anchor: usize,
    window: usize,
    budget: usize,
) -> ops::Range<usize> {
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

/// Returns the part of a chunk around `offset` that fits the budget, split at chunk boundaries.
fn trim_to_budget(
    text: &str,
    chunk: ops::Range<usize>,
    offset: usize,
    budget: usize,
) -> ops::Range<usize> {
    let sizes = ChunkSizes { chunk: budget, overlap: 0, max_block: budget };
    let parts = split_spans(&slice_chars(text, chunk.clone()), sizes);
    let inside = offset.saturating_sub(chunk.start);
    let anchor = parts.iter().rposition(|part| part.start <= inside).unwrap_or(0);
    let part = add_siblings(&parts, anchor, parts.len(), budget);
    chunk.start + part.start..chunk.start + part.end
}

fn slice_chars(text: &str, range: ops::Range<usize>) -> String {
    text.chars().skip(range.start).take(range.len()).collect()
}

fn byte_position(text: &str, characters: usize) -> ops::Range<usize> {
    let at = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    at..at
}

fn chars_before(text: &str, bytes: usize) -> usize {
    text.get(..bytes).unwrap_or_default().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_model::{Preferences, RetrievalOptions};

    fn options(mode: RetrievalMode) -> RetrievalOptions {
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

    fn recent_queries(text: &str) -> Vec<Arc<FtsQuery>> {
        vec![Arc::new(FtsQuery::parse(text))]
    }

    #[test]
    fn siblings_stay_within_budget_without_repetition() {
        let text = story();
        for max_tokens in [1, 7, 50, 333, 5_000] {
            let retrieval = resolve(RetrievalOptions {
                max_tokens: Some(max_tokens),
                chunk_size_tokens: Some(40),
                chunk_overlap_tokens: Some(10),
                sibling_window: Some(10),
                ..options(RetrievalMode::ChunkWithSiblings)
            });
            let passage = read_passage(&text, &[], &retrieval, &recent_queries("\"number 100\""));
            assert!(passage.text.chars().count().div_ceil(4) <= max_tokens);
            assert!(text.contains(&passage.text), "joined as it stands in the text");
            assert!(max_tokens < 50 || passage.text.contains("number 100 "), "{}", passage.text);
        }
    }

    #[test]
    fn wider_window_extends_both_sides() {
        let text = story();
        let with_window = |window| {
            let retrieval = resolve(RetrievalOptions {
                chunk_size_tokens: Some(40),
                sibling_window: Some(window),
                ..options(RetrievalMode::ChunkWithSiblings)
            });
            read_passage(&text, &[], &retrieval, &recent_queries("\"number 100\"")).range
        };
        let (none, one, two) = (with_window(0), with_window(1), with_window(2));
        assert!(one.start < none.start && none.end < one.end);
        assert!(two.start < one.start && one.end < two.end);
    }

    #[test]
    fn table_is_read_whole_within_budget() {
        let rows: Vec<_> = (0..60).map(|row| format!("| größe {row} | {row} |\n")).collect();
        let table = format!("| a | b |\n|---|---|\n{}", rows.concat());
        let text = format!("# Head\n\n{}\n\n{table}\n# Tail\n\n{}", story(), story());
        for mode in [RetrievalMode::Chunk, RetrievalMode::ChunkWithSiblings] {
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
                let passage = read_passage(&text, &[], &retrieval, &recent_queries("\"größe 30\""));
                assert_eq!(passage.text.contains(&table), is_whole, "{mode:?} {max_tokens:?}");
                assert!(passage.text.contains("| größe 30 | 30 |\n"), "{}", passage.text);
                let budget = max_tokens.map_or(usize::MAX, |tokens| tokens * 4);
                assert!(passage.text.chars().count() <= budget);
            }
        }
    }

    #[test]
    fn query_without_loc_selects_densest_window() {
        let text = format!("A thimble. {0} Brass thimble, brass bell. {0}", story());
        for mode in [RetrievalMode::Snippet, RetrievalMode::Chunk, RetrievalMode::ChunkWithSiblings]
        {
            let retrieval =
                resolve(RetrievalOptions { chunk_size_tokens: Some(40), ..options(mode) });
            let passage =
                read_passage(&text, &[], &retrieval, &recent_queries("thimble bell brass"));
            assert!(passage.text.contains("Brass thimble, brass bell."), "{}", passage.text);
        }
    }

    #[test]
    fn stored_chunk_is_found_by_every_reference() {
        let text = "aaaa bbbb cccc";
        let span =
            |index, start, end| ChunkSpan { index, uuid: Some(format!("u{index}")), start, end };
        let stored = [span(0, 0, 5), span(1, 5, 10), span(2, 10, 14)];
        let locs = [
            Loc { chunk_index: Some(1), ..Loc::default() },
            Loc { chunk_uuid: Some("u1".to_owned()), ..Loc::default() },
            Loc { approx_offset: Some(7), ..Loc::default() },
        ];
        for loc in locs {
            let retrieval =
                resolve(RetrievalOptions { loc: Some(loc), ..options(RetrievalMode::Chunk) });
            let passage = read_passage(text, &stored, &retrieval, &[]);
            assert_eq!((passage.text.as_str(), passage.chunk), ("bbbb ", Some(1)));
        }
    }

    #[test]
    fn named_chunk_wins_over_overlapping_chunk() {
        let span = |index, start, end| ChunkSpan { index, uuid: None, start, end };
        let stored = [span(0, 0, 6), span(1, 4, 10)];
        for (index, chunk) in [(0, "aaaabb"), (1, "bbbbcc")] {
            let loc = Loc { chunk_index: Some(index), approx_offset: Some(5), ..Loc::default() };
            let retrieval =
                resolve(RetrievalOptions { loc: Some(loc), ..options(RetrievalMode::Chunk) });
            let passage = read_passage("aaaabbbbcc", &stored, &retrieval, &[]);
            assert_eq!((passage.text.as_str(), passage.chunk), (chunk, Some(index)));
        }
    }

    #[test]
    fn full_mode_reads_long_text_in_pages() {
        let text = "é".repeat(Retrieval::MAX_RESPONSE_CHARS * 2 + 5);
        let (mut offset, mut read_so_far) = (Some(0), 0);
        while let Some(start) = offset {
            let page = read_passage(
                &text,
                &[],
                &resolve(RetrievalOptions { offset: Some(start), ..options(RetrievalMode::Full) }),
                &[],
            );
            read_so_far += page.text.chars().count();
            offset = page.range.next_offset;
        }
        assert_eq!(read_so_far, text.chars().count());
    }

    #[test]
    fn offset_beyond_end_reads_empty_passage() {
        for mode in [
            RetrievalMode::Full,
            RetrievalMode::Chunk,
            RetrievalMode::ChunkWithSiblings,
            RetrievalMode::Snippet,
        ] {
            let loc = Some(Loc { approx_offset: Some(usize::MAX), ..Loc::default() });
            let retrieval =
                resolve(RetrievalOptions { loc, offset: Some(usize::MAX), ..options(mode) });
            let passage = read_passage("short", &[], &retrieval, &[]);
            assert!(passage.text.len() <= 5);
            let empty = read_passage("", &[], &retrieval, &[]);
            assert_eq!(empty.text, "");
        }
    }
}
