//! Division of a document into chunks, each with the path of headings above it.

use std::ops::Range;

use vademecum_collections::NewChunk;
use vademecum_model::Heading;
use vademecum_search::{Chunk, ChunkSizes, parse_headings, split_into_chunks};

use super::chunking::{ChunkingMode, advance_chars};

/// Sizes of chunks that are divided at headings, in characters. Tables and code up to `max_block`
/// characters are not divided.
const HEADING_CHUNK_SIZES: ChunkSizes = ChunkSizes { chunk: 1_500, overlap: 150, max_block: 3_000 };
/// Separator between the headings of a path.
pub(super) const HEADING_SEPARATOR: &str = " › ";
/// Maximum length of a path of headings, in characters.
const MAX_PATH_CHARS: usize = 500;
/// Maximum length of the beginning of a heading from which its part of the path is made, in bytes.
const MAX_TITLE_BYTES: usize = 4 * MAX_PATH_CHARS;

/// Divides a text into chunks and leaves out blank ones. `named` are the headings; if it is empty,
/// those of the Markdown text are used.
pub(super) fn cut_chunks(text: &str, named: &[Heading], cut: ChunkingMode) -> Vec<NewChunk> {
    let ranges = match cut {
        ChunkingMode::Whole => std::iter::once(0..text.len()).collect(),
        ChunkingMode::Windows(windows) => windows.split_ranges(text),
        ChunkingMode::Headings => heading_ranges(text),
    };
    let parsed;
    let headings = if named.is_empty() {
        parsed = parse_headings(text);
        parsed.as_slice()
    } else {
        named
    };
    let (mut at, mut start) = (0, 0);
    let mut outline = HeadingTracker { text, upcoming: headings, open: Vec::new() };
    let mut made = Vec::with_capacity(ranges.len());
    for place in ranges {
        let (Some(body), Some(passed)) = (text.get(place.clone()), text.get(at..place.start))
        else {
            continue;
        };
        start += passed.chars().count();
        at = place.start;
        let section = outline.section_path(&place);
        if !body.trim().is_empty() {
            let end = start + body.chars().count();
            made.push(NewChunk {
                section,
                start,
                end,
                body: body.to_owned(),
                ..NewChunk::default()
            });
        }
    }
    made
}

fn heading_ranges(text: &str) -> Vec<Range<usize>> {
    let (mut at, mut start) = (0, 0);
    let in_bytes = |chunk: Chunk<'_>| {
        at = advance_chars(text, at, chunk.start - start);
        start = chunk.start;
        at..at + chunk.text.len()
    };
    split_into_chunks(text, HEADING_CHUNK_SIZES).into_iter().map(in_bytes).collect()
}

/// Tracks the headings above a position that only moves forward.
struct HeadingTracker<'a> {
    text: &'a str,
    /// Headings after the position.
    upcoming: &'a [Heading],
    /// Headings above the position, outermost first.
    open: Vec<&'a Heading>,
}

impl HeadingTracker<'_> {
    /// Returns the path of headings above a chunk, including those with which it begins.
    fn section_path(&mut self, place: &Range<usize>) -> Option<String> {
        let mut at = place.start;
        while let [next, rest @ ..] = self.upcoming
            && next.at < place.end
            && (next.at <= at || self.is_blank(at..next.at))
        {
            self.open.retain(|heading| heading.level < next.level);
            self.open.push(next);
            self.upcoming = rest;
            at = at.max(self.heading_end(next.at));
        }
        // A heading may be as long as the text, and each chunk below it has its path.
        let line = |title: &str| {
            let start = title.get(..title.floor_char_boundary(MAX_TITLE_BYTES)).unwrap_or_default();
            start.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let titles = self.open.iter().map(|heading| line(&heading.title));
        let titles: Vec<String> = titles.filter(|title| !title.is_empty()).collect();
        (!titles.is_empty())
            .then(|| titles.join(HEADING_SEPARATOR).chars().take(MAX_PATH_CHARS).collect())
    }

    fn is_blank(&self, place: Range<usize>) -> bool {
        self.text.get(place).is_some_and(|between| between.trim().is_empty())
    }

    /// Returns the end of the line of a heading, including the line that underlines it.
    fn heading_end(&self, at: usize) -> usize {
        let line = |at: usize| {
            let rest = self.text.get(at..).unwrap_or_default();
            rest.split_inclusive('\n').next().unwrap_or_default()
        };
        let end = at + line(at).len();
        let below = line(end);
        let signs = below.trim();
        let underlines = signs.bytes().all(|it| it == b'=') || signs.bytes().all(|it| it == b'-');
        if underlines && !signs.is_empty() { end + below.len() } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::config::Chunking;

    fn cut_sections(text: &str, named: &[Heading], how: ChunkingMode) -> Vec<(String, String)> {
        let cut = cut_chunks(text, named, how);
        let letters: Vec<char> = text.chars().collect();
        for chunk in &cut {
            let excerpt: String = letters[chunk.start..chunk.end].iter().collect();
            assert_eq!(excerpt, chunk.body);
        }
        let line = |chunk: NewChunk| {
            (
                chunk.section.unwrap_or_default(),
                chunk.body.trim().lines().last().unwrap().to_owned(),
            )
        };
        cut.into_iter().map(line).collect()
    }

    fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
        found.iter().map(|(section, last)| (section.as_str(), last.as_str())).collect()
    }

    #[test]
    fn chunk_has_path_of_headings() {
        let text = "Über\n\n# Title\n\n## Section\n\n### `Sub`  *one*\n\nA.\n\n### Two\nB.\n\n\
                    Other\n-----\n\nC.\n\n# End\nD.\n";
        let found = cut_sections(text, &[], ChunkingMode::Headings);
        assert_eq!(
            pairs(&found),
            [
                ("", "Über"),
                ("Title › Section › Sub one", "A."),
                ("Title › Section › Two", "B."),
                ("Title › Other", "C."),
                ("End", "D."),
            ]
        );
    }

    #[test]
    fn later_chunks_keep_section_headings() {
        let text = format!("# Bread\n\n{}\n## Oven\n\nHot.\n", "Knead the dough. ".repeat(200));
        let found = cut_sections(&text, &[], ChunkingMode::Headings);
        assert!(found.len() > 3, "{found:?}");
        let (last, first) = found.split_last().unwrap();
        assert!(first.iter().all(|(section, _)| section == "Bread"), "{found:?}");
        assert_eq!(last.0, "Bread › Oven");
    }

    #[test]
    fn window_has_heading_at_its_start() {
        let (windows, _) = ChunkingMode::from_settings(Some(&Chunking {
            chunk_size: 40,
            overlap: 0,
            min_chunk_size: 0,
            ..Chunking::default()
        }));
        let text =
            "# One\nA sentence here.\n\n## Two\nAnother one.\n\n## Three\nThe last sentence.\n";
        let found = cut_sections(text, &[], windows);
        let named: Vec<&str> = found.iter().map(|(section, _)| section.as_str()).collect();
        assert!(named[0] == "One" && *named.last().unwrap() != "One", "{found:?}");
    }

    #[test]
    fn long_heading_is_shortened_in_paths() {
        let text = format!("# {}\n\n{}", "a b ".repeat(10_000), "Knead. ".repeat(1_000));
        let found = cut_sections(&text, &[], ChunkingMode::Headings);
        assert!(found.len() > 3);
        let lengths: Vec<usize> = found.iter().map(|(section, _)| section.len()).collect();
        assert_eq!(lengths, vec![MAX_PATH_CHARS; found.len()]);
        let named = [Heading { at: 0, level: 1, title: "é".repeat(MAX_TITLE_BYTES) }];
        let (section, _) = cut_sections(&text, &named, ChunkingMode::Headings).remove(0);
        assert_eq!(section, "é".repeat(MAX_PATH_CHARS));
    }

    #[test]
    fn blank_text_gives_no_chunk() {
        assert_eq!(cut_sections(" \n\n", &[], ChunkingMode::Headings), []);
        assert_eq!(cut_sections("# A\n\nB.\n\n# C\n\nD.", &[], ChunkingMode::Whole).len(), 1);
    }

    #[test]
    fn external_headings_name_chunks() {
        let heading = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        let text = format!("{}\n\n{}", "Page one. ".repeat(200), "Page two. ".repeat(200));
        let parts = [heading(0, "1"), heading("Page one. ".len() * 200 + 2, "2")];
        let found = cut_sections(&text, &parts, ChunkingMode::Headings);
        assert_eq!((found[0].0.as_str(), found.last().unwrap().0.as_str()), ("1", "2"));
    }
}
