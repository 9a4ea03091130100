//! Chunk sizes, and the division of a text into overlapping windows.

use std::ops::Range;

use vademecum_core::config;
use vademecum_search::first_piece_bytes;

/// Number of characters after the window limit that are inspected to detect the end of a word or a
/// sentence.
const LOOKAHEAD_CHARS: usize = 64;

/// Division of documents into chunks.
///
/// The `Debug` text is part of content hashes: renaming a variant, a field or `Windows` updates
/// every document of existing collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkingMode {
    /// Each document is a single chunk.
    Whole,
    /// Documents are divided at headings, where there are some.
    Headings,
    /// Documents are divided into windows.
    Windows(Windows),
}

/// Sizes of windows over a text, in characters (code points).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    /// Maximum size of a window. Never 0.
    size: usize,
    /// Maximum overlap of neighbouring windows. Less than the size.
    overlap: usize,
    /// Minimum size of the last window; a smaller one is merged into the one before it.
    least: usize,
}

impl ChunkingMode {
    /// Returns the mode for the settings of a plan, and warnings about values that were replaced.
    pub(super) fn from_settings(chunking: Option<&config::Chunking>) -> (Self, Vec<String>) {
        let Some(chunking) = chunking else { return (Self::Headings, Vec::new()) };
        let (windows, warnings) = Windows::from_settings(chunking);
        (if chunking.enabled { Self::Windows(windows) } else { Self::Whole }, warnings)
    }
}

impl Windows {
    /// Returns the windows for the settings, and warnings about values that were replaced.
    fn from_settings(written: &config::Chunking) -> (Self, Vec<String>) {
        let default = config::Chunking::default();
        let mut warnings = Vec::new();
        let mut mend =
            |name: &str, found: &dyn std::fmt::Display, taken: &dyn std::fmt::Display| {
                warnings.push(format!("chunking.{name} is {found}; using {taken}"));
            };
        if written.unit != default.unit {
            mend("unit", &format_args!("`{}`", written.unit), &default.unit);
        }
        let size = if written.chunk_size > 0 {
            written.chunk_size
        } else {
            mend("chunk_size", &written.chunk_size, &default.chunk_size);
            default.chunk_size
        };
        let overlap = match written.overlap {
            below @ ..0 => {
                mend("overlap", &below, &0);
                0
            }
            beyond if beyond >= size => {
                mend("overlap", &beyond, &(size / 4));
                size / 4
            }
            overlap => overlap,
        };
        let least = written.min_chunk_size.max(0);
        if least != written.min_chunk_size {
            mend("min_chunk_size", &written.min_chunk_size, &0);
        }
        let count = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
        (Self { size: count(size), overlap: count(overlap), least: count(least) }, warnings)
    }

    /// Returns the byte ranges of the windows over a text. They cover it without gaps.
    ///
    /// A window ends after a paragraph, a sentence or a word that ends in its second half, if there
    /// is one, and begins at a word.
    pub(super) fn split_ranges(self, text: &str) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let limit = advance_chars(text, start, self.size);
            if limit == text.len() {
                let rest = text.get(start..).unwrap_or_default();
                match ranges.last_mut() {
                    // The overlap already belongs to the previous window.
                    Some(last) if rest.chars().take(self.least).count() < self.least => {
                        last.end = limit;
                    }
                    _ => ranges.push(start..limit),
                }
                break;
            }
            let end = self.window_end(text, start, limit);
            ranges.push(start..end);
            start = self.next_start(text, end);
        }
        ranges
    }

    /// Returns the end of the window that begins at `start` and may reach to `limit`.
    fn window_end(self, text: &str, start: usize, limit: usize) -> usize {
        // A shorter window would hold little more than the overlap.
        let least = (self.size / 2).max(self.overlap + 1).max(self.least.min(self.size));
        let least = advance_chars(text, start, least.min(self.size));
        let room = text.get(least..limit).map_or(0, |part| part.chars().count());
        if room == 0 {
            return limit;
        }
        let part = text.get(least..advance_chars(text, limit, LOOKAHEAD_CHARS)).unwrap_or_default();
        let first = first_piece_bytes(part, room);
        if first == 0 { limit } else { (least + first).min(limit) }
    }

    /// Returns the start of the window that follows one that ends at `end`.
    fn next_start(self, text: &str, end: usize) -> usize {
        let earliest = rewind_chars(text, end, self.overlap);
        let before = text.get(..earliest).and_then(|before| before.chars().next_back());
        if before.is_none_or(char::is_whitespace) {
            return earliest;
        }
        let shared = text.get(earliest..end).unwrap_or_default();
        let word = shared
            .find(char::is_whitespace)
            .and_then(|gap| Some(gap + shared.get(gap..)?.find(|it: char| !it.is_whitespace())?));
        earliest + word.unwrap_or(0)
    }
}

/// Returns the byte offset `characters` characters after `at`, or the end of the text.
pub(super) fn advance_chars(text: &str, at: usize, characters: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.char_indices().nth(characters).map_or(text.len(), |(beyond, _)| at + beyond)
}

/// Returns the byte offset `characters` characters before `at`, or 0.
fn rewind_chars(text: &str, at: usize, characters: usize) -> usize {
    let before = text.get(..at).unwrap_or_default().char_indices();
    match characters {
        0 => at,
        _ => before.rev().nth(characters - 1).map_or(0, |(place, _)| place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(size: usize, overlap: usize, least: usize) -> Windows {
        Windows { size, overlap, least }
    }

    fn lengths(text: &str, windows: Windows) -> Vec<usize> {
        windows.split_ranges(text).into_iter().map(|place| text[place].chars().count()).collect()
    }

    #[test]
    fn windows_have_contract_sizes_without_word_boundaries() {
        let (default, warnings) = Windows::from_settings(&config::Chunking::default());
        assert_eq!((default, warnings), (windows(4_000, 400, 800), vec![]));
        for (length, expected) in [
            (1, vec![1]),
            (4_000, vec![4_000]),
            (4_001, vec![4_001]),
            (7_500, vec![4_000, 3_900]),
            (7_700, vec![4_000, 4_100]),
            (8_000, vec![4_000, 4_000, 800]),
            (10_000, vec![4_000, 4_000, 2_800]),
        ] {
            for unit in ["x", "é", "京"] {
                assert_eq!(lengths(&unit.repeat(length), default), expected, "{length} {unit}");
            }
        }
        assert!(default.split_ranges("").is_empty());
    }

    #[test]
    fn window_sizes_count_code_points() {
        let text = format!("x{}", "é".repeat(3_000));
        assert_eq!(lengths(&text, windows(4_000, 400, 800)), [3_001]);
        assert_eq!(lengths(&text, windows(1_000, 0, 0)), [1_000, 1_000, 1_000, 1]);
    }

    #[test]
    fn invalid_sizes_are_replaced_with_warning() {
        let written = config::Chunking {
            chunk_size: 0,
            overlap: -1,
            min_chunk_size: -5,
            unit: "tokens".to_owned(),
            ..config::Chunking::default()
        };
        let (mended, warnings) = Windows::from_settings(&written);
        assert_eq!(mended, windows(4_000, 0, 0));
        assert_eq!(
            warnings,
            [
                "chunking.unit is `tokens`; using chars",
                "chunking.chunk_size is 0; using 4000",
                "chunking.overlap is -1; using 0",
                "chunking.min_chunk_size is -5; using 0",
            ]
        );
        for (overlap, expected) in [(1_000, 250), (5_000, 250), (999, 999)] {
            let written = config::Chunking { chunk_size: 1_000, overlap, ..written.clone() };
            assert_eq!(Windows::from_settings(&written).0.overlap, expected);
        }
        let off = config::Chunking { enabled: false, ..config::Chunking::default() };
        assert_eq!(ChunkingMode::from_settings(Some(&off)), (ChunkingMode::Whole, vec![]));
        assert_eq!(ChunkingMode::from_settings(None), (ChunkingMode::Headings, vec![]));
    }

    #[test]
    fn windows_end_at_sentence_boundaries() {
        let sentence = "The dough rests until it has doubled. ";
        let text = format!("{}\n\n{}", sentence.repeat(4).trim_end(), sentence.repeat(5));
        let texts: Vec<&str> = windows(200, 40, 20)
            .split_ranges(&text)
            .into_iter()
            .map(|place| &text[place])
            .collect();
        assert!(texts[0].ends_with("doubled.\n\n"), "{texts:?}");
        assert!(texts.iter().all(|it| it.trim_end().ends_with("doubled.")), "{texts:?}");
        let begins = |it: &&str| text.contains(&format!(" {it}")) || text.starts_with(*it);
        assert!(texts.iter().all(begins), "{texts:?}");
    }

    /// A deterministic pseudo-random generator (linear congruential).
    struct SeededRng(u64);

    impl SeededRng {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.0 >> 33).unwrap() % most
        }
    }

    #[test]
    fn windows_cover_any_text_within_size() {
        let parts = [
            "word ",
            "Ein Satz. ",
            "\n\n",
            "\r\n",
            "京都は美しい。",
            "👨\u{200d}👩\u{200d}👧",
            "e\u{301}",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "\u{a0}",
            "| a | b |\n",
        ];
        let mut rng = SeededRng(7);
        for _ in 0..400 {
            let text: String = (0..rng.below(60)).map(|_| parts[rng.below(parts.len())]).collect();
            let size = 1 + rng.below(90);
            let windows = windows(size, rng.below(size), rng.below(size + 20));
            let ranges = windows.split_ranges(&text);
            let mut covered = 0;
            for (index, place) in ranges.iter().enumerate() {
                let text_of_range = text.get(place.clone()).expect("whole code points");
                let (length, is_last) = (text_of_range.chars().count(), index + 1 == ranges.len());
                assert!(place.start <= covered && place.end > covered, "{windows:?} {text:?}");
                let shared = text[place.start..covered].chars().count();
                assert!(shared <= windows.overlap, "{windows:?} {text:?}");
                let most = if is_last { size + windows.least } else { size };
                assert!(length <= most, "{windows:?} {text:?}");
                covered = place.end;
            }
            assert_eq!(covered, text.len());
        }
    }
}
