//! Splitting of a text into chunks, for items without stored chunks.
//!
//! A chunk stays within one section: it starts with the heading and ends before the next one.
//! Tables and fenced code are kept whole if possible; other text is split at paragraphs, sentences
//! or words. The Markdown splitter of `text-splitter` is not used: it is seven times slower than
//! its plain-text splitter, and overlapping chunks can start in the middle of a table.

use std::ops::Range;

use text_splitter::{Characters, ChunkConfig, TextSplitter};

use super::{
    markdown::{MarkdownBlock, parse_blocks},
    snippet::grapheme_start,
};

/// Size of the text that is passed to the splitter at once: in chunks, and a minimum in bytes.
const SPLITTER_INPUT_CHUNKS: usize = 16;
const MIN_SPLITTER_INPUT_BYTES: usize = 1_024;

/// Average length of a line or sentence below which a text is no prose, in bytes.
const MIN_LINE_BYTES: usize = 16;
/// Ends of sentences in a line.
const SENTENCE_ENDS: [&str; 4] = [". ", "? ", "! ", "。"];
/// Ends of lines, sentences and words, the best first.
const CHUNK_ENDS: [&str; 5] = ["\n\n", "\n", ". ", "。", " "];
/// Maximum size of a grapheme cluster that is kept whole, in bytes.
const MAX_GRAPHEME_BYTES: usize = 64;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Start, in characters (code points).
    pub start: usize,
    /// End, exclusive, in characters.
    pub end: usize,
    /// Text from `start` to `end`.
    pub text: &'a str,
}

/// Chunk sizes, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// Maximum size of a chunk.
    pub chunk: usize,
    /// Maximum overlap of neighbouring chunks, where prose had to be split.
    pub overlap: usize,
    /// Maximum size of a table or fenced code block that is kept whole even if it is longer than a
    /// chunk.
    pub max_block: usize,
}

/// Splits a text into chunks that cover it without gaps.
pub fn split_into_chunks(text: &str, sizes: ChunkSizes) -> Vec<Chunk<'_>> {
    let sizes = ChunkSizes { chunk: sizes.chunk.max(1), ..sizes };
    let mut ranges = Vec::new();
    for section in split_sections(text) {
        section.append_chunks(text, sizes, &mut ranges);
    }
    let (mut at, mut start) = (0, 0);
    let in_characters = |place: Range<usize>| {
        start += count_chars(text, at..place.start);
        at = place.start;
        let end = start + count_chars(text, place.clone());
        Some(Chunk { start, end, text: text.get(place)? })
    };
    ranges.into_iter().filter_map(in_characters).collect()
}

/// Returns the length of the first piece of a text, in bytes: at most `size` characters, up to the end
/// of a paragraph, a sentence or a word if there is one. What follows these characters decides whether
/// they end one. Takes linear time.
pub fn first_piece_bytes(text: &str, size: usize) -> usize {
    if has_unusual_lines(text, size) {
        return unusual_end(text, 0..chars_after(text, 0, size));
    }
    let splitter: TextSplitter<Characters> =
        TextSplitter::new(ChunkConfig::new(size).with_trim(false));
    splitter.chunks(text).next().map_or(0, str::len)
}

/// The text under one heading, or under several consecutive headings.
#[derive(Default)]
struct Section {
    units: Vec<SectionUnit>,
    /// End of the headings, as a byte offset.
    headings_end: usize,
}

/// A part of a section, as a byte range.
enum SectionUnit {
    /// Prose, split at any suitable boundary.
    Prose(Range<usize>),
    /// A table or fenced code, split only between lines.
    Block(Range<usize>),
}

fn split_sections(text: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut section = Section::default();
    let mut at = 0;
    for block in parse_blocks(text) {
        match block {
            MarkdownBlock::Heading(place) => {
                let body = text.get(section.headings_end..place.start).unwrap_or_default();
                if !body.trim().is_empty() {
                    section.add_prose(at..place.start);
                    at = place.start;
                    sections.push(std::mem::take(&mut section));
                }
                section.headings_end = place.end;
            }
            MarkdownBlock::Atomic(place) => {
                section.add_prose(at..place.start);
                at = place.end;
                section.units.push(SectionUnit::Block(place));
            }
        }
    }
    section.add_prose(at..text.len());
    sections.push(section);
    sections
}

impl Section {
    fn add_prose(&mut self, place: Range<usize>) {
        if !place.is_empty() {
            self.units.push(SectionUnit::Prose(place));
        }
    }

    /// Appends the byte ranges of the section's chunks.
    fn append_chunks(&self, text: &str, sizes: ChunkSizes, ranges: &mut Vec<Range<usize>>) {
        let mut open: Option<Range<usize>> = None;
        for unit in &self.units {
            let (SectionUnit::Prose(place) | SectionUnit::Block(place)) = unit;
            let joined = open.as_ref().map_or(place.start, |open| open.start)..place.end;
            if fits_size(text, &joined, sizes.chunk) {
                open = Some(joined);
                continue;
            }
            let pieces = match unit {
                SectionUnit::Prose(place) => {
                    ranges.extend(open);
                    split_headed_prose(text, place.clone(), self.headings_end, sizes)
                }
                SectionUnit::Block(place) => {
                    // A heading alone is of little use, but it must not force a table to be split.
                    let most = sizes.max_block.max(sizes.chunk);
                    let breaks = !fits_size(text, &joined, most) && fits_size(text, place, most);
                    if breaks || self.has_body_text(text, open.as_ref()) {
                        ranges.extend(open);
                        split_block(text, place.clone(), sizes)
                    } else {
                        split_block(text, joined, sizes)
                    }
                }
            };
            ranges.extend(pieces);
            // The following text may still fit into the last chunk.
            open = ranges.pop();
        }
        ranges.extend(open);
    }

    /// Returns whether the open chunk contains more than headings.
    fn has_body_text(&self, text: &str, open: Option<&Range<usize>>) -> bool {
        let after = open.and_then(|open| text.get(self.headings_end.max(open.start)..open.end));
        after.is_some_and(|body| !body.trim().is_empty())
    }
}

/// Splits prose that may start with headings. Headings stay with the text below them.
fn split_headed_prose(
    text: &str,
    place: Range<usize>,
    headings_end: usize,
    sizes: ChunkSizes,
) -> Vec<Range<usize>> {
    let pieces = split_prose(text, place.clone(), sizes);
    let headings = place.start..headings_end;
    let alone = pieces.first().is_some_and(|first| first.end <= headings_end);
    let size = if alone { count_chars(text, headings.clone()) } else { 0 };
    if size == 0 || size > sizes.chunk / 2 {
        return pieces;
    }
    let beside = ChunkSizes { chunk: sizes.chunk - size, ..sizes };
    let first = split_prose(text, headings_end..place.end, beside).into_iter().next();
    let end = first.map_or(headings_end, |first| first.end);
    let rest = split_prose(text, end..place.end, sizes);
    std::iter::once(headings.start..end).chain(rest).collect()
}

/// Splits prose at paragraphs, sentences or words.
fn split_prose(text: &str, place: Range<usize>, sizes: ChunkSizes) -> Vec<Range<usize>> {
    let plain = ChunkConfig::new(sizes.chunk).with_trim(false);
    let shared = sizes.overlap.min(sizes.chunk / 2);
    let config = match ChunkConfig::new(sizes.chunk).with_trim(false).with_overlap(shared) {
        Ok(config) => config,
        Err(_) => plain,
    };
    let splitter: TextSplitter<Characters> = TextSplitter::new(config);
    let mut pieces = Vec::new();
    let mut start = place.start;
    while start < place.end {
        let end = splitter_input_end(text, start..place.end, sizes.chunk);
        let part = text.get(start..end).unwrap_or_default();
        if has_unusual_lines(part, sizes.chunk) {
            split_unusual(text, start..end, sizes.chunk, shared, &mut pieces);
            start = end;
            continue;
        }
        let range = |(at, piece): (usize, &str)| start + at..start + at + piece.len();
        pieces.extend(splitter.chunk_indices(part).map(range));
        start = end;
    }
    pieces
}

/// Returns whether a text has long lines without sentences, or lines or sentences of few letters. The
/// splitter takes up to 60 times as long for them as for prose, because it builds each chunk of words
/// or signs.
fn has_unusual_lines(text: &str, chunk: usize) -> bool {
    let mut lines = 0;
    let has_long = text.split('\n').any(|line| {
        lines += 1;
        line.len() > chunk && {
            let sentences: usize = SENTENCE_ENDS.iter().map(|end| line.matches(end).count()).sum();
            let average = line.len() / sentences.max(1);
            average < MIN_LINE_BYTES || average > chunk / 2
        }
    });
    has_long || text.len() > MIN_SPLITTER_INPUT_BYTES && text.len() / lines < MIN_LINE_BYTES
}

/// Splits a text at the last end of a line, sentence or word in the second half of each chunk, or else
/// between two characters, in linear time.
fn split_unusual(
    text: &str,
    place: Range<usize>,
    chunk: usize,
    overlap: usize,
    pieces: &mut Vec<Range<usize>>,
) {
    let mut start = place.start;
    loop {
        let limit = chars_after(text, start, chunk).min(place.end);
        if limit == place.end {
            pieces.push(start..limit);
            return;
        }
        let end = unusual_end(text, start..limit);
        pieces.push(start..end);
        start = overlap_start(text, start..end, overlap);
    }
}

/// Returns the last end of a line, sentence or word in the second half of a part of a text, or else a
/// position between two characters.
fn unusual_end(text: &str, place: Range<usize>) -> usize {
    let part = text.get(place.clone()).unwrap_or_default();
    let after = |mark: &str| Some(part.rfind(mark)? + mark.len());
    let end = CHUNK_ENDS.into_iter().filter_map(after).find(|end| *end > part.len() / 2);
    let end = end.map_or_else(|| near_grapheme_start(text, place.end), |end| place.start + end);
    if end > place.start + part.len() / 2 { end } else { place.end }
}

/// Returns the start of the chunk after one: at a word in the part that both share, if there is one.
fn overlap_start(text: &str, chunk: Range<usize>, overlap: usize) -> usize {
    let shared = text.get(chunk.clone()).unwrap_or_default();
    let mut letters = shared.char_indices().rev();
    let earliest = match overlap {
        0 => return chunk.end,
        _ => letters.nth(overlap - 1).map_or(chunk.start, |(at, _)| chunk.start + at),
    };
    let word = text.get(earliest..chunk.end).and_then(|shared| shared.find(' '));
    let start = word.map_or_else(|| near_grapheme_end(text, earliest), |gap| earliest + gap + 1);
    if start > chunk.start && start <= chunk.end { start } else { chunk.end }
}

/// Returns the byte position `count` characters after another one, or the end of the text.
fn chars_after(text: &str, at: usize, count: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.char_indices().nth(count).map_or(text.len(), |(beyond, _)| at + beyond)
}

/// Returns the start of the grapheme cluster that contains a position, if that is near, or else the
/// position: a cluster may be as long as the text.
fn near_grapheme_start(text: &str, place: usize) -> usize {
    let from = text.floor_char_boundary(place.saturating_sub(MAX_GRAPHEME_BYTES));
    let to = chars_after(text, place, 1);
    let start = from + grapheme_start(text.get(from..to).unwrap_or_default(), place - from);
    if start > from { start } else { place }
}

/// Returns the first start of a grapheme cluster from a position on, if that is near.
fn near_grapheme_end(text: &str, place: usize) -> usize {
    let to = text.floor_char_boundary(place + MAX_GRAPHEME_BYTES);
    let mut places = text.get(place..to).unwrap_or_default().char_indices();
    let is_start = |at: &usize| near_grapheme_start(text, *at) == *at;
    places.by_ref().map(|(at, _)| place + at).find(is_start).unwrap_or(place)
}

/// Returns the end of the part that is passed to the splitter at once. The splitter reads the whole
/// remaining text for each chunk, which is quadratic on very long lines.
fn splitter_input_end(text: &str, place: Range<usize>, chunk: usize) -> usize {
    let most = chunk.saturating_mul(SPLITTER_INPUT_CHUNKS).max(MIN_SPLITTER_INPUT_BYTES);
    if place.len() <= most {
        return place.end;
    }
    let limit = text.floor_char_boundary(place.start + most);
    let part = text.get(place.start..limit).unwrap_or_default();
    let after = |mark: &str| Some(part.rfind(mark)? + mark.len()).filter(|end| *end > most / 2);
    let end = ["\n\n", "\n\r\n", "\n", ". ", "。", " "].into_iter().find_map(after);
    let end = end.map_or_else(|| near_grapheme_start(text, limit), |end| place.start + end);
    if end > place.start { end } else { limit }
}

/// Returns a table or code block as one chunk if it fits, otherwise splits it between lines.
fn split_block(text: &str, place: Range<usize>, sizes: ChunkSizes) -> Vec<Range<usize>> {
    if fits_size(text, &place, sizes.max_block.max(sizes.chunk)) {
        return vec![place];
    }
    let sizes = ChunkSizes { overlap: 0, ..sizes };
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let (mut at, mut left) = (place.start, 0);
    for line in text.get(place).unwrap_or_default().split_inclusive('\n') {
        let size = line.chars().count();
        let next = at..at + line.len();
        at = next.end;
        match pieces.last_mut().filter(|_| size <= left) {
            Some(piece) => {
                piece.end = next.end;
                left -= size;
            }
            None if size <= sizes.chunk => {
                pieces.push(next);
                left = sizes.chunk - size;
            }
            None => {
                pieces.extend(split_prose(text, next, sizes));
                left = 0;
            }
        }
    }
    pieces
}

fn fits_size(text: &str, place: &Range<usize>, size: usize) -> bool {
    place.len() <= size || place.len() / 4 <= size && count_chars(text, place.clone()) <= size
}

fn count_chars(text: &str, place: Range<usize>) -> usize {
    text.get(place).map_or(0, |part| part.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(chunk: usize, overlap: usize, whole: usize) -> ChunkSizes {
        ChunkSizes { chunk, overlap, max_block: whole }
    }

    fn chunk_texts(text: &str, sizes: ChunkSizes) -> Vec<&str> {
        split_into_chunks(text, sizes).into_iter().map(|chunk| chunk.text).collect()
    }

    /// Checks the invariants that hold for the chunks of every text.
    fn check_invariants(text: &str, sizes: ChunkSizes) -> Vec<Chunk<'_>> {
        let chunks = split_into_chunks(text, sizes);
        let letters: Vec<char> = text.chars().collect();
        let mut covered = 0;
        for chunk in &chunks {
            assert!(chunk.start <= covered && chunk.start < chunk.end, "{chunk:?}");
            assert!(
                chunk.end - chunk.start <= sizes.chunk.max(sizes.max_block).max(1),
                "{chunk:?}"
            );
            assert!(chunk.end >= covered && covered - chunk.start <= sizes.overlap, "{chunk:?}");
            let slice: String = letters[chunk.start..chunk.end].iter().collect();
            assert_eq!(slice, chunk.text);
            covered = chunk.end;
        }
        assert_eq!(covered, letters.len(), "{sizes:?}");
        chunks
    }

    fn table(rows: usize) -> String {
        let row = |number| format!("| Zeile {number} | größer |\n");
        format!("| a | b |\n|---|---|\n{}", (0..rows).map(row).collect::<String>())
    }

    #[test]
    fn chunks_cover_text_within_size_limit() {
        let text = "Ein Satz über Brot. Noch ein Satz!\n\nEin Absatz mit 東京 und 🙂.\n".repeat(40);
        for (chunk, overlap) in [(80, 0), (80, 20), (1, 0), (0, 0), (10_000, 50)] {
            check_invariants(&text, sizes(chunk, overlap, 0));
        }
        assert_eq!(split_into_chunks("", sizes(80, 0, 0)), []);
        assert_eq!(chunk_texts(" \r\n", sizes(80, 0, 0)), [" \r\n"]);
    }

    #[test]
    fn chunks_split_very_long_line() {
        for unit in ["京", "wörd ", "a", "👨\u{200d}👩", "Ein Satz. ", "x\u{301}"] {
            let text = unit.repeat(20_000 / unit.len());
            let found = check_invariants(&text, sizes(40, 10, 40));
            assert!(found.iter().all(|chunk| !chunk.text.starts_with(['\u{301}', '\u{200d}'])));
        }
    }

    #[test]
    fn chunk_ends_before_next_heading() {
        let text = "Über\n\n# One\n\n## Part\n\nText.\n\n## Other\nMore.\r\n\r\nSet\r\n===\r\nEnd";
        assert_eq!(
            chunk_texts(text, sizes(500, 50, 500)),
            [
                "Über\n\n",
                "# One\n\n## Part\n\nText.\n\n",
                "## Other\nMore.\r\n\r\n",
                "Set\r\n===\r\nEnd"
            ]
        );
    }

    #[test]
    fn table_that_fits_stays_whole() {
        let table = table(9);
        let prose = "Ein Satz davor. ".repeat(20);
        let text = format!("# Kopf\n{prose}\n\n{table}\nDanach.\n");
        for overlap in [0, 60] {
            let found = check_invariants(&text, sizes(280, overlap, 280));
            assert!(found.iter().any(|chunk| chunk.text.contains(&table)), "{found:?}");
            assert!(found[0].text.starts_with("# Kopf\nEin Satz"), "{found:?}");
        }
        let found = chunk_texts(&text, sizes(100, 20, 280));
        assert!(found.iter().any(|chunk| chunk.starts_with(&table)), "{found:?}");
    }

    #[test]
    fn heading_stays_with_its_table() {
        let text = format!("# Kopf\n\n{}", table(9));
        assert_eq!(chunk_texts(&text, sizes(100, 0, 1_000)), [text.as_str()]);
        let cut = check_invariants(&text, sizes(100, 0, 100));
        assert!(cut.len() > 2 && cut[0].text.starts_with("# Kopf\n\n| a | b |\n|---|---|\n"));
    }

    #[test]
    fn oversized_table_or_code_splits_between_lines() {
        let code = format!("~~~\r\n{}~~~\r\n", "let größe = 1;\r\n\r\n".repeat(40));
        for text in [table(50), code] {
            let chunks = check_invariants(&text, sizes(100, 30, 100));
            assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.text.ends_with('\n')));
        }
        let line = format!("```\n{}\n```\n", "x".repeat(950));
        assert!(check_invariants(&line, sizes(100, 0, 100)).len() >= 10);
    }

    #[test]
    fn nested_fence_is_one_block() {
        let fence = "````md\n# Not a heading\n\n```js\nx\n\ny\n```\n````\n\n";
        let text = format!("{}\n\n{fence}{}", "Davor. ".repeat(10), "Danach. ".repeat(10));
        let found = chunk_texts(&text, sizes(90, 20, 90));
        assert!(found.iter().any(|chunk| chunk.contains(fence)), "{found:?}");
    }

    #[test]
    fn text_without_breaks_is_split_in_linear_time() {
        let letters =
            ["x", "[", "- ", "a. ", "ก", "京", "京。", "\u{301}", "👨\u{200d}", "🇩", "\u{a0}"];
        for unit in letters.into_iter().chain(["\n", "a\n", "<a ", "http://", "x\u{301}", "\r"]) {
            let text = unit.repeat(30_000 / unit.len());
            assert!(has_unusual_lines(&text, 1_000), "{unit:?}");
            let found = check_invariants(&text, sizes(1_000, 100, 1_500));
            // No chunk is small, so that their number bounds the time.
            let most = text.chars().count() / 350 + 2;
            assert!(found.len() <= most, "{unit:?}: {} {most}", found.len());
            let first = first_piece_bytes(&text, 1_000);
            let letters = text[..first].chars().count();
            assert!((500..=1_000).contains(&letters), "{unit:?}: {letters}");
        }
        let prose = "The rye bread rises slowly in the oven. It is done. ".repeat(40) + "\n";
        assert!(!has_unusual_lines(&prose.repeat(4), 1_000));
    }

    /// Converts a byte range to a character range.
    fn char_range(text: &str, place: &Range<usize>) -> Range<usize> {
        count_chars(text, 0..place.start)..count_chars(text, 0..place.end)
    }

    /// Returns whether one chunk contains the whole block and no chunk starts inside it.
    fn is_kept(chunks: &[Chunk<'_>], block: &Range<usize>) -> bool {
        let holds = |chunk: &&Chunk<'_>| chunk.start <= block.start && block.end <= chunk.end;
        let begins_inside =
            |chunk: &Chunk<'_>| block.start < chunk.start && chunk.start < block.end;
        chunks.iter().filter(holds).count() == 1 && !chunks.iter().any(begins_inside)
    }

    /// Returns whether only headings and white space precede a heading in its chunk.
    fn is_first(chunks: &[Chunk<'_>], headings: &[Range<usize>], heading: &Range<usize>) -> bool {
        let holder = chunks.iter().find(|chunk| (chunk.start..chunk.end).contains(&heading.start));
        let holder = holder.unwrap();
        (holder.start..heading.start).zip(holder.text.chars()).all(|(at, letter)| {
            letter.is_whitespace() || headings.iter().any(|heading| heading.contains(&at))
        })
    }

    #[test]
    fn chunks_keep_invariants_on_random_text() {
        let table = table(2);
        let parts = [
            "# Überschrift\n\n",
            "## Next\r\n",
            "Ein Satz mit 東京. Und noch einer! 👨\u{200d}👩 ",
            "A line\r\nand another.\r\n\r\n",
            table.as_str(),
            "```\ncode\n\n# no\n```\n",
            "~~~~\n```\n~~~\n~~~~\n",
            "- item\n\n  ```\n  x\n  ```\n\n",
            "\n\n",
            "> quote\n> | a |\n",
            "`\u{0}`\n",
            "---\n",
            "| no table\n",
            "wordwordwordwordwordwordword",
        ];
        let mut rng = 7_u32;
        for round in 0..300 {
            let mut text = String::new();
            for _ in 0..30 {
                rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(parts[(rng >> 16) as usize % parts.len()]);
            }
            let (mut headings, mut wholes) = (Vec::new(), Vec::new());
            for block in parse_blocks(&text) {
                match block {
                    MarkdownBlock::Heading(block) => headings.push(char_range(&text, &block)),
                    MarkdownBlock::Atomic(block) => wholes.push(char_range(&text, &block)),
                }
            }
            for (chunk, overlap) in [(1, 0), (30, 10), (120, 40), (400, 0)] {
                let found = check_invariants(&text, sizes(chunk, overlap, 160));
                let fitting = wholes.iter().filter(|block| block.len() <= 160);
                for block in fitting {
                    assert!(is_kept(&found, block), "{round} {chunk}: {block:?} of {text}");
                }
                // A heading longer than a chunk is split like any other text.
                for heading in headings.iter().filter(|_| chunk >= 120) {
                    let first = is_first(&found, &headings, heading);
                    assert!(first, "{round} {chunk}: {heading:?} of {text}");
                }
            }
        }
    }
}
