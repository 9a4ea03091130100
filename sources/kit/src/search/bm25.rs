//! BM25 scoring over postings, equal to FTS5's `bm25()`, extended by passage scores for long rows.
//!
//! The formula is Robertson's with `k1` = 1.2 and `b` = 0.75; a phrase in more than half of all
//! rows has the weight 1e-6. The operations and their order are those of FTS5, so scores are
//! bit-identical. Each window of rows is scored phrase by phrase. This needs no merging or sorting,
//! and the partial sums stay in the CPU cache.
//!
//! A long row scores at least as high as its best passage would score as a row of its own.
//! Otherwise a book with one relevant page would rank below any short text that contains one of the
//! words.

use std::sync::Arc;

use vademecum_fts5::{Posting, Postings, PostingsCursor, SEGMENT_WORDS};

use crate::{
    model::{CorpusStatistics, to_f64},
    store::RowLengths,
};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Number of rows scored at once.
const WINDOW_ROWS: i64 = 4_096;
const WINDOW_SLOTS: usize = 4_096;
/// Number of row lengths whose norm is precomputed.
const PRECOMPUTED_NORMS: usize = 1_024;

/// Length of a passage in words: two adjacent segments.
const PASSAGE_WORDS: u32 = 2 * SEGMENT_WORDS;
/// Rows with more words than this are also scored by passage.
const LONG_ROW_WORDS: u32 = 2 * PASSAGE_WORDS;

/// Scores the rows that match a query.
pub(crate) struct Bm25Scorer<'a> {
    lists: Vec<PhrasePostings<'a>>,
    required: u16,
    norms: LengthNorms<'a>,
}

struct PhrasePostings<'a> {
    cursor: PostingsCursor<'a>,
    next: Option<Posting<'a>>,
    frequencies: &'a [f64],
    /// Weight and number of repetitions of the phrase; `None` if the phrase excludes its rows.
    weight: Option<(f64, usize)>,
    required: bool,
}

/// Partial score of one row in the window.
#[derive(Clone, Copy, Debug, Default)]
struct RowScore {
    score: f64,
    required_matches: u16,
    matched: bool,
    excluded: bool,
}

/// A phrase in one segment of a long row.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct SegmentMatch {
    slot: u16,
    segment: u32,
    list: usize,
    weight: f64,
}

impl<'a> Bm25Scorer<'a> {
    /// Creates a scorer for `phrases`, each with its number of repetitions in the query. The first
    /// `required` phrases must occur and no phrase of `excluded` may occur. `statistics` cover
    /// everything that is ranked.
    pub(crate) fn new(
        phrases: &'a [(Arc<Postings>, usize)],
        required: usize,
        excluded: &'a [Arc<Postings>],
        statistics: &CorpusStatistics,
        lengths: &'a RowLengths,
    ) -> Self {
        let scored = phrases.iter().zip(statistics.phrase_weights()).zip(0..);
        let scored = scored.map(|(((postings, times), weight), index)| {
            PhrasePostings::new(postings, Some((weight, *times)), index < required)
        });
        let dropped = excluded.iter().map(|postings| PhrasePostings::new(postings, None, false));
        let average = to_f64(statistics.tokens) / to_f64(statistics.rows.max(1));
        let postings: usize = phrases.iter().map(|(postings, _)| postings.len()).sum();
        Self {
            lists: scored.chain(dropped).collect(),
            required: u16::try_from(required).unwrap_or(u16::MAX),
            norms: LengthNorms::new(lengths, average, postings),
        }
    }

    /// Calls `visit` with the row and score of every match, in no particular order. Calls `pause`
    /// regularly, so that it can abort the loop.
    pub(crate) fn for_each_match<E>(
        mut self,
        mut pause: impl FnMut() -> Result<(), E>,
        mut visit: impl FnMut(i64, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut slots = vec![RowScore::default(); WINDOW_SLOTS];
        let mut touched: Vec<u16> = Vec::with_capacity(WINDOW_SLOTS);
        let mut places: Vec<SegmentMatch> = Vec::new();
        while let Some(first) = self.lists.iter().filter_map(|list| Some(list.next?.row)).min() {
            let start = first.div_euclid(WINDOW_ROWS) * WINDOW_ROWS;
            for (number, list) in self.lists.iter_mut().enumerate() {
                pause()?;
                list.score_window(
                    start,
                    &mut slots,
                    &mut touched,
                    &self.norms,
                    |slot, posting, weight| {
                        let segments = posting.segments();
                        places.extend(segments.map(|segment| SegmentMatch {
                            slot,
                            segment,
                            list: number,
                            weight,
                        }));
                    },
                );
            }
            self.norms.raise_to_best_passages(&mut places, &mut slots);
            for slot in touched.drain(..) {
                let Some(found) = slots.get_mut(usize::from(slot)).map(std::mem::take) else {
                    continue;
                };
                if found.matched && !found.excluded && found.required_matches == self.required {
                    visit(start + i64::from(slot), found.score)?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> PhrasePostings<'a> {
    fn new(postings: &'a Postings, weight: Option<(f64, usize)>, required: bool) -> Self {
        let mut rows = postings.rows();
        let next = rows.next();
        Self { cursor: rows, next, frequencies: postings.frequencies(), weight, required }
    }

    /// Adds the scores of the rows in the window that begins at `start`. Calls `is_long` for long
    /// rows.
    fn score_window(
        &mut self,
        start: i64,
        slots: &mut [RowScore],
        touched: &mut Vec<u16>,
        norms: &LengthNorms<'_>,
        mut is_long: impl FnMut(u16, Posting<'a>, f64),
    ) {
        while let Some(posting) = self.next {
            let place = posting.row.saturating_sub(start);
            if place >= WINDOW_ROWS {
                return;
            }
            self.next = self.cursor.next();
            let Ok(number) = u16::try_from(place) else { continue };
            let Some(slot) = slots.get_mut(usize::from(number)) else { continue };
            if !slot.matched && !slot.excluded {
                touched.push(number);
            }
            match (self.weight, self.frequencies.get(posting.frequency_index)) {
                (Some((weight, times)), Some(&frequency)) => {
                    let length = norms.lengths.words_in_row(posting.row);
                    let once = weight * saturate_frequency(frequency, norms.norm(length));
                    // Repeated addition gives the same rounding as one phrase per repetition.
                    for _ in 0..times {
                        slot.score += once;
                    }
                    slot.matched = true;
                    slot.required_matches += u16::from(self.required);
                    if length > LONG_ROW_WORDS {
                        is_long(number, posting, weight * to_f64(times as u64));
                    }
                }
                _ => slot.excluded = true,
            }
        }
    }
}

/// Returns the saturated term frequency: `f * (k1 + 1) / (f + norm)`.
fn saturate_frequency(frequency: f64, norm: f64) -> f64 {
    (frequency * (K1 + 1.0)) / (frequency + norm)
}

/// Length-dependent part of the formula: `k1 * (1 - b + b * length / average)`.
struct LengthNorms<'a> {
    lengths: &'a RowLengths,
    average_length: f64,
    by_length: Vec<f64>,
}

impl<'a> LengthNorms<'a> {
    fn new(lengths: &'a RowLengths, average: f64, postings: usize) -> Self {
        let mut norms = Self { lengths, average_length: average, by_length: Vec::new() };
        // Precomputing does not pay off for few rows.
        if postings > PRECOMPUTED_NORMS {
            let known = 0..u32::try_from(PRECOMPUTED_NORMS).unwrap_or(0);
            norms.by_length = known.map(|length| norms.norm(length)).collect();
        }
        norms
    }

    #[inline]
    fn norm(&self, length: u32) -> f64 {
        let known = usize::try_from(length).ok().and_then(|length| self.by_length.get(length));
        known
            .copied()
            .unwrap_or_else(|| K1 * (1.0 - B + B * f64::from(length) / self.average_length))
    }

    /// Raises the score of every long row to that of its best passage. Clears `places`.
    fn raise_to_best_passages(&self, places: &mut Vec<SegmentMatch>, slots: &mut [RowScore]) {
        if places.is_empty() {
            return;
        }
        let key = |place: &SegmentMatch| (place.slot, place.segment, place.list);
        places.sort_unstable_by_key(key);
        let norm = self.norm(PASSAGE_WORDS);
        let (once, twice) = (saturate_frequency(1.0, norm), saturate_frequency(2.0, norm));
        for row in places.chunk_by(|one, next| one.slot == next.slot) {
            let mut best: f64 = 0.0;
            let mut before: &[SegmentMatch] = &[];
            for here in row.chunk_by(|one, next| one.segment == next.segment) {
                let follows =
                    |last: &SegmentMatch, first: &SegmentMatch| last.segment + 1 == first.segment;
                let near = match (before.last(), here.first()) {
                    (Some(last), Some(first)) if follows(last, first) => before,
                    _ => &[],
                };
                let in_both = |place: &&SegmentMatch| near.iter().any(|it| it.list == place.list);
                let both: f64 = here.iter().filter(in_both).map(|place| place.weight).sum();
                let all: f64 = here.iter().chain(near).map(|place| place.weight).sum();
                best = best.max((all - 2.0 * both) * once + both * twice);
                before = here;
            }
            let slot = row.first().and_then(|place| slots.get_mut(usize::from(place.slot)));
            if let Some(slot) = slot {
                slot.score = slot.score.max(best);
            }
        }
        places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postings(rows: &[(i64, f64, &[u32])]) -> Arc<Postings> {
        let mut postings = Postings::default();
        for (row, frequency, segments) in rows {
            postings.push(*row, *frequency, segments);
        }
        Arc::new(postings)
    }

    fn scores(phrases: &[Arc<Postings>], lengths: &[(i64, u32)]) -> Vec<(i64, f64)> {
        let matches = phrases.iter().map(|postings| postings.len() as u64).collect();
        let tokens: u64 = lengths.iter().map(|(_, length)| u64::from(*length)).sum();
        let statistics =
            CorpusStatistics { rows: 1_000, tokens: tokens * 10, document_frequencies: matches };
        let phrases: Vec<_> = phrases.iter().cloned().map(|postings| (postings, 1)).collect();
        let lengths = RowLengths::new(lengths.to_vec());
        let mut found = Vec::new();
        let scorer = Bm25Scorer::new(&phrases, 0, &[], &statistics, &lengths);
        let pause = || Ok::<_, ()>(());
        let visit = |row, score| {
            found.push((row, score));
            Ok(())
        };
        scorer.for_each_match(pause, visit).unwrap();
        found.sort_by_key(|(row, _)| *row);
        found
    }

    #[test]
    fn long_row_scores_like_its_best_passage() {
        // Row 1 has both words on one page; row 2 has them on distant pages.
        let phrases = [
            postings(&[(1, 1.0, &[40]), (2, 1.0, &[3])]),
            postings(&[(1, 1.0, &[41]), (2, 1.0, &[70])]),
        ];
        let found = scores(&phrases, &[(1, 50_000), (2, 50_000), (3, 200)]);
        assert!(found[0].1 > 1.9 * found[1].1, "{found:?}");
        // The page as a row of its own has the same score.
        let alone = [postings(&[(1, 1.0, &[])]), postings(&[(1, 1.0, &[])])];
        let page =
            scores(&alone, &[(1, PASSAGE_WORDS), (2, 50_000), (3, 50_000 - PASSAGE_WORDS + 200)]);
        let long = [postings(&[(1, 1.0, &[40])]), postings(&[(1, 1.0, &[41])])];
        let book = scores(&long, &[(1, 50_000), (3, 50_000), (4, 200)]);
        assert!((page[0].1 - book[0].1).abs() < 1e-9, "{page:?} {book:?}");
    }

    #[test]
    fn phrase_in_adjacent_segments_counts_at_most_twice() {
        let once = scores(&[postings(&[(1, 9.0, &[5])])], &[(1, 90_000), (2, 10)]);
        let near = scores(&[postings(&[(1, 9.0, &[5, 6, 7])])], &[(1, 90_000), (2, 10)]);
        let far = scores(&[postings(&[(1, 9.0, &[5, 90])])], &[(1, 90_000), (2, 10)]);
        assert!(near[0].1 > once[0].1 && (far[0].1 - once[0].1).abs() < 1e-12);
    }

    #[test]
    fn scorer_accepts_sparse_and_negative_rows() {
        let rows = [(-5_000, 1.0, &[][..]), (-1, 1.0, &[]), (0, 1.0, &[]), (1 << 40, 1.0, &[])];
        let lengths: Vec<_> = rows.iter().map(|(row, ..)| (*row, 10)).collect();
        let found = scores(&[postings(&rows)], &lengths);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|(_, score)| *score == found[0].1));
    }
}
