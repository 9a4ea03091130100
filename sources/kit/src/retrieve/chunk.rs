//! A text in chunks, where none are stored.
//!
//! A chunk keeps to one section: it begins with a heading and does not run
//! over the next. Tables and fenced code stay whole where they may; the rest is
//! cut at paragraphs, sentences or words. `text-splitter` has rules for
//! Markdown too, but it takes seven times as long as it does for plain text,
//! and neighbours that share something begin in the middle of a table.

use std::ops::Range;

use text_splitter::{Characters, ChunkConfig, TextSplitter};

use super::{
    markdown::{Block, blocks},
    snippet::cluster_start,
};

/// How long a text is that is cut at once: in chunks, and in bytes at least.
const STRETCH: usize = 16;
const SHORTEST_STRETCH: usize = 1_024;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Where it begins, in characters (code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it says.
    pub text: &'a str,
}

/// How long chunks are, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A chunk, at most.
    pub chunk: usize,
    /// What neighbours share, at most, where a text had to be cut.
    pub overlap: usize,
    /// A table or a fenced code block that is kept whole though it is longer
    /// than a chunk.
    pub whole: usize,
}

/// Cuts a text into chunks. They cover it without a gap.
pub fn chunks(text: &str, sizes: Sizes) -> Vec<Chunk<'_>> {
    let sizes = Sizes { chunk: sizes.chunk.max(1), ..sizes };
    let mut places = Vec::new();
    for section in sections(text) {
        section.cut(text, sizes, &mut places);
    }
    let (mut at, mut start) = (0, 0);
    let in_characters = |place: Range<usize>| {
        start += count(text, at..place.start);
        at = place.start;
        let end = start + count(text, place.clone());
        Some(Chunk { start, end, text: text.get(place)? })
    };
    places.into_iter().filter_map(in_characters).collect()
}

/// What stands under one heading, or under several that follow each other.
#[derive(Default)]
struct Section {
    units: Vec<Unit>,
    /// Where its headings end.
    headings_end: usize,
}

/// A part of a section.
enum Unit {
    /// May be cut wherever it reads well.
    Prose(Range<usize>),
    /// A table or fenced code: may be cut between lines, if it must be.
    Whole(Range<usize>),
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut section = Section::default();
    let mut at = 0;
    for block in blocks(text) {
        match block {
            Block::Heading(place) => {
                let said = text.get(section.headings_end..place.start).unwrap_or_default();
                if !said.trim().is_empty() {
                    section.add_prose(at..place.start);
                    at = place.start;
                    sections.push(std::mem::take(&mut section));
                }
                section.headings_end = place.end;
            }
            Block::Whole(place) => {
                section.add_prose(at..place.start);
                at = place.end;
                section.units.push(Unit::Whole(place));
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
            self.units.push(Unit::Prose(place));
        }
    }

    /// Adds the places of its chunks.
    fn cut(&self, text: &str, sizes: Sizes, places: &mut Vec<Range<usize>>) {
        let mut open: Option<Range<usize>> = None;
        for unit in &self.units {
            let (Unit::Prose(place) | Unit::Whole(place)) = unit;
            let joined = open.as_ref().map_or(place.start, |open| open.start)..place.end;
            if fits(text, &joined, sizes.chunk) {
                open = Some(joined);
                continue;
            }
            let pieces = match unit {
                Unit::Prose(place) => {
                    places.extend(open);
                    under_headings(text, place.clone(), self.headings_end, sizes)
                }
                Unit::Whole(place) => {
                    // A heading alone says nothing, but it breaks no table either.
                    let most = sizes.whole.max(sizes.chunk);
                    let breaks = !fits(text, &joined, most) && fits(text, place, most);
                    if breaks || self.says_more(text, open.as_ref()) {
                        places.extend(open);
                        whole(text, place.clone(), sizes)
                    } else {
                        whole(text, joined, sizes)
                    }
                }
            };
            places.extend(pieces);
            // What follows may still find room in the last piece.
            open = places.pop();
        }
        places.extend(open);
    }

    /// Whether there is more than headings in what is open.
    fn says_more(&self, text: &str, open: Option<&Range<usize>>) -> bool {
        let after = open.and_then(|open| text.get(self.headings_end.max(open.start)..open.end));
        after.is_some_and(|said| !said.trim().is_empty())
    }
}

/// Text that may begin with headings, which stay with what is under them.
fn under_headings(
    text: &str,
    place: Range<usize>,
    headings_end: usize,
    sizes: Sizes,
) -> Vec<Range<usize>> {
    let pieces = prose(text, place.clone(), sizes);
    let headings = place.start..headings_end;
    let alone = pieces.first().is_some_and(|first| first.end <= headings_end);
    let size = if alone { count(text, headings.clone()) } else { 0 };
    if size == 0 || size > sizes.chunk / 2 {
        return pieces;
    }
    let beside = Sizes { chunk: sizes.chunk - size, ..sizes };
    let first = prose(text, headings_end..place.end, beside).into_iter().next();
    let end = first.map_or(headings_end, |first| first.end);
    let rest = prose(text, end..place.end, sizes);
    std::iter::once(headings.start..end).chain(rest).collect()
}

/// Text that is cut at paragraphs, sentences or words.
fn prose(text: &str, place: Range<usize>, sizes: Sizes) -> Vec<Range<usize>> {
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
        let end = stretch(text, start..place.end, sizes.chunk);
        let part = text.get(start..end).unwrap_or_default();
        let range = |(at, piece): (usize, &str)| start + at..start + at + piece.len();
        pieces.extend(splitter.chunk_indices(part).map(range));
        start = end;
    }
    pieces
}

/// Where the part ends that is cut at once. The splitter reads all that is left
/// for every chunk it makes: one endless line would take it forever.
fn stretch(text: &str, place: Range<usize>, chunk: usize) -> usize {
    let most = chunk.saturating_mul(STRETCH).max(SHORTEST_STRETCH);
    if place.len() <= most {
        return place.end;
    }
    let limit = text.floor_char_boundary(place.start + most);
    let part = text.get(place.start..limit).unwrap_or_default();
    let after = |mark: &str| Some(part.rfind(mark)? + mark.len()).filter(|end| *end > most / 2);
    let end = ["\n\n", "\n\r\n", "\n", ". ", "。", " "].into_iter().find_map(after);
    let end = end.map_or_else(|| cluster_start(text, limit), |end| place.start + end);
    if end > place.start { end } else { limit }
}

/// A table or code: in one piece, else cut between lines.
fn whole(text: &str, place: Range<usize>, sizes: Sizes) -> Vec<Range<usize>> {
    if fits(text, &place, sizes.whole.max(sizes.chunk)) {
        return vec![place];
    }
    let sizes = Sizes { overlap: 0, ..sizes };
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
                pieces.extend(prose(text, next, sizes));
                left = 0;
            }
        }
    }
    pieces
}

fn fits(text: &str, place: &Range<usize>, size: usize) -> bool {
    place.len() <= size || place.len() / 4 <= size && count(text, place.clone()) <= size
}

fn count(text: &str, place: Range<usize>) -> usize {
    text.get(place).map_or(0, |part| part.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(chunk: usize, overlap: usize, whole: usize) -> Sizes {
        Sizes { chunk, overlap, whole }
    }

    fn texts(text: &str, sizes: Sizes) -> Vec<&str> {
        chunks(text, sizes).into_iter().map(|chunk| chunk.text).collect()
    }

    /// Checks what is true of all chunks of all texts.
    fn check(text: &str, sizes: Sizes) -> Vec<Chunk<'_>> {
        let chunks = chunks(text, sizes);
        let letters: Vec<char> = text.chars().collect();
        let mut covered = 0;
        for chunk in &chunks {
            assert!(chunk.start <= covered && chunk.start < chunk.end, "{chunk:?}");
            assert!(chunk.end - chunk.start <= sizes.chunk.max(sizes.whole).max(1), "{chunk:?}");
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
    fn chunks_cover_the_text_and_keep_to_their_size() {
        let text = "Ein Satz über Brot. Noch ein Satz!\n\nEin Absatz mit 東京 und 🙂.\n".repeat(40);
        for (chunk, overlap) in [(80, 0), (80, 20), (1, 0), (0, 0), (10_000, 50)] {
            check(&text, sizes(chunk, overlap, 0));
        }
        assert_eq!(chunks("", sizes(80, 0, 0)), []);
        assert_eq!(texts(" \r\n", sizes(80, 0, 0)), [" \r\n"]);
    }

    #[test]
    fn an_endless_line_is_cut_too() {
        for unit in ["京", "wörd ", "a", "👨\u{200d}👩", "Ein Satz. ", "x\u{301}"] {
            let text = unit.repeat(20_000 / unit.len());
            let found = check(&text, sizes(40, 10, 40));
            assert!(found.iter().all(|chunk| !chunk.text.starts_with(['\u{301}', '\u{200d}'])));
        }
    }

    #[test]
    fn a_chunk_ends_before_the_next_heading() {
        let text = "Über\n\n# One\n\n## Part\n\nText.\n\n## Other\nMore.\r\n\r\nSet\r\n===\r\nEnd";
        assert_eq!(
            texts(text, sizes(500, 50, 500)),
            [
                "Über\n\n",
                "# One\n\n## Part\n\nText.\n\n",
                "## Other\nMore.\r\n\r\n",
                "Set\r\n===\r\nEnd"
            ]
        );
    }

    #[test]
    fn a_table_that_fits_is_read_whole() {
        let table = table(9);
        let prose = "Ein Satz davor. ".repeat(20);
        let text = format!("# Kopf\n{prose}\n\n{table}\nDanach.\n");
        for overlap in [0, 60] {
            let found = check(&text, sizes(280, overlap, 280));
            assert!(found.iter().any(|chunk| chunk.text.contains(&table)), "{found:?}");
            assert!(found[0].text.starts_with("# Kopf\nEin Satz"), "{found:?}");
        }
        let found = texts(&text, sizes(100, 20, 280));
        assert!(found.iter().any(|chunk| chunk.starts_with(&table)), "{found:?}");
    }

    #[test]
    fn a_heading_stays_with_the_table_under_it() {
        let text = format!("# Kopf\n\n{}", table(9));
        assert_eq!(texts(&text, sizes(100, 0, 1_000)), [text.as_str()]);
        let cut = check(&text, sizes(100, 0, 100));
        assert!(cut.len() > 2 && cut[0].text.starts_with("# Kopf\n\n| a | b |\n|---|---|\n"));
    }

    #[test]
    fn a_table_or_code_that_is_too_long_is_cut_between_lines() {
        let code = format!("~~~\r\n{}~~~\r\n", "let größe = 1;\r\n\r\n".repeat(40));
        for text in [table(50), code] {
            let chunks = check(&text, sizes(100, 30, 100));
            assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.text.ends_with('\n')));
        }
        let line = format!("```\n{}\n```\n", "x".repeat(950));
        assert!(check(&line, sizes(100, 0, 100)).len() >= 10);
    }

    #[test]
    fn a_fence_with_another_in_it_is_one() {
        let fence = "````md\n# Not a heading\n\n```js\nx\n\ny\n```\n````\n\n";
        let text = format!("{}\n\n{fence}{}", "Davor. ".repeat(10), "Danach. ".repeat(10));
        let found = texts(&text, sizes(90, 20, 90));
        assert!(found.iter().any(|chunk| chunk.contains(fence)), "{found:?}");
    }

    /// Where a block stands, in characters.
    fn place(text: &str, place: &Range<usize>) -> Range<usize> {
        count(text, 0..place.start)..count(text, 0..place.end)
    }

    /// A table or code that fits is in one chunk, and none begins inside of it.
    fn is_kept(chunks: &[Chunk<'_>], block: &Range<usize>) -> bool {
        let holds = |chunk: &&Chunk<'_>| chunk.start <= block.start && block.end <= chunk.end;
        let begins_inside =
            |chunk: &Chunk<'_>| block.start < chunk.start && chunk.start < block.end;
        chunks.iter().filter(holds).count() == 1 && !chunks.iter().any(begins_inside)
    }

    /// Nothing but headings comes before a heading in its chunk.
    fn is_first(chunks: &[Chunk<'_>], headings: &[Range<usize>], heading: &Range<usize>) -> bool {
        let holder = chunks.iter().find(|chunk| (chunk.start..chunk.end).contains(&heading.start));
        let holder = holder.unwrap();
        (holder.start..heading.start).zip(holder.text.chars()).all(|(at, letter)| {
            letter.is_whitespace() || headings.iter().any(|heading| heading.contains(&at))
        })
    }

    #[test]
    fn whatever_the_text_chunks_cover_it_and_break_nothing_that_fits() {
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
        let mut dice = 7_u32;
        for round in 0..300 {
            let mut text = String::new();
            for _ in 0..30 {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(parts[(dice >> 16) as usize % parts.len()]);
            }
            let (mut headings, mut wholes) = (Vec::new(), Vec::new());
            for block in blocks(&text) {
                match block {
                    Block::Heading(block) => headings.push(place(&text, &block)),
                    Block::Whole(block) => wholes.push(place(&text, &block)),
                }
            }
            for (chunk, overlap) in [(1, 0), (30, 10), (120, 40), (400, 0)] {
                let found = check(&text, sizes(chunk, overlap, 160));
                let fitting = wholes.iter().filter(|block| block.len() <= 160);
                for block in fitting {
                    assert!(is_kept(&found, block), "{round} {chunk}: {block:?} of {text}");
                }
                // A heading that is longer than a chunk is cut like any text.
                for heading in headings.iter().filter(|_| chunk >= 120) {
                    let first = is_first(&found, &headings, heading);
                    assert!(first, "{round} {chunk}: {heading:?} of {text}");
                }
            }
        }
    }
}
