//! BM25 scoring over postings, equal to FTS5's `bm25()`, extended by passage scores for long rows.
//!
//! The formula is Robertson's with `k1` = 1.2 and `b` = 0.75; a phrase in more than half of all
//! rows has the weight 1e-6. The operations and their order are those of FTS5, so scores are
//! bit-identical.
//!
//! First the matching rows are found as sets of bits, which counts them. Then groups of 4,096 rows
//! are scored, the most promising first. Upper bounds of the score of each phrase in each range of
//! 64 rows are known: rows whose phrases together cannot reach the lowest score of interest are not
//! scored (block-max pruning, Ding and Suel 2011; max-score pruning, Turtle and Flood 1995; ranges by row
//! number, Dimopoulos, Nepomnyachiy and Suel 2013).
//!
//! A long row scores at least as high as its best passage would score as a row of its own.
//! Otherwise a book with one relevant page would rank below any short text that contains one of the
//! words.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use vademecum_fts5::{BLOCK_RANGES, Posting, Postings, PostingsBlock, RowBits, ScoreBounds};

use super::row_matches::{
    ALL_RANGES, BlockBounds, BlockMatches, GROUP_RANGES, Group, Matches, PhraseBounds, PhraseRows,
    slots,
};
use crate::{
    model::{CorpusStatistics, to_f64},
    store::{LONG_ROW_WORDS, PASSAGE_WORDS, RowLengths},
};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Number of rows of a block.
const BLOCK_ROWS: i64 = 65_536;
/// Number of rows that are scored together.
const GROUP_SLOTS: usize = 4_096;
/// Number of groups of which the best range is scored first, so that the lowest score of interest
/// rises early.
const FIRST_GROUPS: usize = 32;
/// Maximum number of rows of a group whose postings are looked up one by one.
const MAX_SINGLE_ROWS: u32 = 24;
/// With fewer postings, scoring all of them is faster than looking at bounds.
const MIN_BOUNDED_POSTINGS: usize = 2_048;
/// Number of row lengths whose norm is precomputed.
const PRECOMPUTED_NORMS: usize = 1_024;

/// Finds and scores the rows that match a query.
pub(super) struct Bm25Scorer<'a> {
    phrases: Vec<ScoredPhrase<'a>>,
    required: usize,
    excluded: &'a [Arc<Postings>],
    hidden: &'a [i64],
    norms: LengthNorms<'a>,
}

struct ScoredPhrase<'a> {
    postings: &'a Postings,
    weight: f64,
    /// Number of repetitions in the query.
    times: usize,
}

/// A phrase in one segment of a long row.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct SegmentMatch {
    slot: usize,
    segment: u32,
    phrase: usize,
    weight: f64,
}

impl<'a> Bm25Scorer<'a> {
    /// Creates a scorer for `phrases`, each with its number of repetitions in the query. The first
    /// `required` phrases must occur and no phrase of `excluded` may occur. `hidden` rows, in
    /// ascending order, do not match. `statistics` cover everything that is ranked.
    pub(super) fn new(
        phrases: &'a [(Arc<Postings>, usize)],
        required: usize,
        (excluded, hidden): (&'a [Arc<Postings>], &'a [i64]),
        statistics: &CorpusStatistics,
        lengths: &'a RowLengths,
    ) -> Self {
        let weighted = phrases.iter().zip(statistics.phrase_weights());
        let phrases = weighted
            .map(|((postings, times), weight)| ScoredPhrase { postings, weight, times: *times })
            .collect::<Vec<_>>();
        let average = to_f64(statistics.tokens) / to_f64(statistics.rows.max(1));
        let postings = phrases.iter().map(|phrase| phrase.postings.len()).sum();
        let norms = LengthNorms::new(lengths, average, postings);
        Self { phrases, required, excluded, hidden, norms }
    }

    /// Finds the matching rows. `accept`, if any, is called with the first of 64 adjacent rows and the
    /// bits of those that match, and returns the bits of those that are wanted. Calls `pause`
    /// regularly, so that it can abort the loop.
    pub(super) fn find_matches<E>(
        &self,
        mut pause: impl FnMut() -> Result<(), E>,
        mut accept: Option<impl FnMut(i64, u64) -> Result<u64, E>>,
    ) -> Result<Matches<'a>, E> {
        let bounds = self.score_bounds();
        let numbers: BTreeSet<i64> = self
            .phrases
            .iter()
            .flat_map(|phrase| phrase.postings.blocks())
            .map(|block| block.number())
            .collect();
        let mut found = Matches { blocks: Vec::new(), total: 0 };
        let mut others = Box::<RowBits>::default();
        for number in numbers {
            pause()?;
            let postings: Vec<Option<PostingsBlock<'a>>> =
                self.phrases.iter().map(|phrase| phrase.postings.block(number)).collect();
            let mut rows = Box::<RowBits>::default();
            self.match_block(number, &postings, &mut rows, &mut others);
            if let Some(accept) = &mut accept {
                for range in 0..ALL_RANGES {
                    let matching = rows.range(range);
                    if matching != 0 {
                        let first_row = number * BLOCK_ROWS + i64::from(range) * 64;
                        rows.remove_range(range, matching & !accept(first_row, matching)?);
                    }
                }
            }
            found.total += rows.count();
            let bounds = bounds.as_ref().map(|bounds| self.bound_block(bounds, &postings));
            found.blocks.push(BlockMatches { number, postings, rows, bounds });
        }
        Ok(found)
    }

    /// Stores the matching rows of a block in `rows`. `others` is overwritten.
    fn match_block(
        &self,
        number: i64,
        blocks: &[Option<PostingsBlock<'a>>],
        rows: &mut RowBits,
        others: &mut RowBits,
    ) {
        rows.clear();
        let (required, optional) = blocks.split_at(self.required.min(blocks.len()));
        match required {
            [] => optional.iter().flatten().for_each(|block| block.add_to(rows)),
            [Some(first), required @ ..] => {
                first.add_to(rows);
                for block in required {
                    others.clear();
                    if let Some(block) = block {
                        block.add_to(others);
                    }
                    rows.intersect_with(others);
                }
            }
            [None, ..] => {}
        }
        for block in self.excluded.iter().filter_map(|postings| postings.block(number)) {
            rows.remove_all(block.low_bits());
        }
        let first = number * BLOCK_ROWS;
        let hidden = self.hidden.partition_point(|row| *row < first);
        let hidden = self.hidden.iter().skip(hidden).map(|row| u16::try_from(row - first));
        hidden.map_while(Result::ok).for_each(|row| rows.remove_all(&[row]));
    }

    /// Returns the bounds of each phrase, unless there are few postings.
    fn score_bounds(&self) -> Option<Vec<Arc<ScoreBounds>>> {
        let postings: usize = self.phrases.iter().map(|phrase| phrase.postings.len()).sum();
        if postings < MIN_BOUNDED_POSTINGS {
            return None;
        }
        let highest_score = |row, frequency, average| {
            let length = self.norms.lengths.words_in_row(row);
            let score = saturate_frequency(frequency, length_norm(length, average));
            if length <= LONG_ROW_WORDS {
                return score;
            }
            score.max(saturate_frequency(2.0, length_norm(PASSAGE_WORDS, average)))
        };
        let average = self.norms.average_length;
        let bounds = |phrase: &ScoredPhrase<'_>| {
            phrase.postings.score_bounds(average, K1 + 1.0, highest_score)
        };
        Some(self.phrases.iter().map(bounds).collect())
    }

    /// Returns the upper bounds of the scores in each range of a block.
    fn bound_block(
        &self,
        bounds: &[Arc<ScoreBounds>],
        postings: &[Option<PostingsBlock<'a>>],
    ) -> BlockBounds<'a> {
        let mut sums = Box::new([0.0; BLOCK_RANGES]);
        let mut phrases: Vec<(f64, PhraseBounds<'a>)> = Vec::with_capacity(postings.len());
        for ((phrase, bounds), block) in self.phrases.iter().zip(bounds).zip(postings) {
            let Some(block) = block else { continue };
            let weight = phrase.weight * to_f64(phrase.times as u64);
            let mut of_phrase = Box::new([0.0; BLOCK_RANGES]);
            block.add_bounds(bounds, f32_above(weight), &mut of_phrase);
            sums.iter_mut().zip(of_phrase.iter()).for_each(|(sum, bound)| *sum += bound);
            phrases
                .push((weight, PhraseBounds { bounds: of_phrase, rows: PhraseRows::new(block) }));
        }
        phrases.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        BlockBounds { sums, phrases: phrases.into_iter().map(|(_, phrase)| phrase).collect() }
    }

    /// Calls `visit` with the row and score of each match, in no particular order. `visit` returns
    /// the lowest score that is still of interest: rows that score less may be left out. Calls
    /// `pause` regularly, so that it can abort the loop.
    pub(super) fn score_matches<E>(
        &self,
        matches: Matches<'a>,
        mut pause: impl FnMut() -> Result<(), E>,
        mut visit: impl FnMut(i64, f64) -> Result<f64, E>,
    ) -> Result<(), E> {
        let mut blocks = matches.blocks;
        let mut groups: Vec<Group> = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            for first_range in (0..ALL_RANGES).step_by(usize::from(GROUP_RANGES)) {
                let bound = block.highest_bound(first_range);
                groups.extend(bound.map(|bound| Group { bound, block: number, first_range }));
            }
        }
        groups.sort_unstable_by(|one, other| other.bound.total_cmp(&one.bound));
        let mut scorer = GroupScorer::new(self);
        if groups.len() > 1 {
            for group in groups.iter().take(FIRST_GROUPS) {
                let Some(block) = blocks.get_mut(group.block) else { continue };
                let Some((range, bound)) = block.best_range(group.first_range) else { continue };
                if block.bounds.is_some() && f64::from(bound) >= scorer.floor {
                    scorer.score(block, group.first_range, range..range + 1, &mut visit)?;
                }
            }
        }
        for group in groups {
            if f64::from(group.bound) < scorer.floor {
                break;
            }
            pause()?;
            let ranges = group.first_range..group.first_range + GROUP_RANGES;
            if let Some(block) = blocks.get_mut(group.block) {
                scorer.score(block, group.first_range, ranges, &mut visit)?;
            }
        }
        Ok(())
    }
}

/// Scores groups of rows.
struct GroupScorer<'s, 'a> {
    scorer: &'s Bm25Scorer<'a>,
    /// Lowest score of interest.
    floor: f64,
    /// The rows to score, by range.
    rows: [u64; GROUP_RANGES as usize],
    scores: Vec<f64>,
    long_rows: Vec<SegmentMatch>,
}

impl<'s, 'a> GroupScorer<'s, 'a> {
    fn new(scorer: &'s Bm25Scorer<'a>) -> Self {
        Self {
            scorer,
            floor: f64::NEG_INFINITY,
            rows: [0; GROUP_RANGES as usize],
            scores: vec![0.0; GROUP_SLOTS],
            long_rows: Vec::new(),
        }
    }

    /// Scores the matches in some ranges of a group, phrase by phrase, and removes them from the
    /// block.
    fn score<E>(
        &mut self,
        block: &mut BlockMatches<'a>,
        first_range: u16,
        ranges: Range<u16>,
        visit: &mut impl FnMut(i64, f64) -> Result<f64, E>,
    ) -> Result<(), E> {
        let mut count = 0;
        self.rows.fill(0);
        for range in ranges {
            let rows = block.promising_rows(range, self.floor);
            count += rows.count_ones();
            if let Some(slot) = self.rows.get_mut(usize::from(range - first_range)) {
                *slot = rows;
            }
            block.rows.remove_range(range, rows);
        }
        if count == 0 {
            return Ok(());
        }
        let first_low = first_range * 64;
        let last_low = first_low + (GROUP_RANGES * 64 - 1);
        let phrases = self.scorer.phrases.iter().zip(&block.postings);
        for (number, (phrase, postings)) in phrases.enumerate() {
            let Some(postings) = postings else { continue };
            if count <= MAX_SINGLE_ROWS {
                for low in self.rows_to_score() {
                    if let Some(posting) = postings.posting(first_low + low) {
                        self.add_posting(phrase, number, low, posting);
                    }
                }
                continue;
            }
            for posting in postings.postings_in_rows(first_low, last_low) {
                let [low, high, ..] = posting.row.to_le_bytes();
                let low = u16::from_le_bytes([low, high]) - first_low;
                let rows = self.rows.get(usize::from(low / 64)).copied().unwrap_or(0);
                if rows >> (low % 64) & 1 == 1 {
                    self.add_posting(phrase, number, low, posting);
                }
            }
        }
        let scores = self.scores.as_mut_slice();
        self.scorer.norms.raise_to_best_passages(&mut self.long_rows, scores);
        let first_row = block.number * BLOCK_ROWS + i64::from(first_low);
        for low in self.rows_to_score() {
            let score = self.scores.get_mut(usize::from(low)).map(std::mem::take);
            self.floor = visit(first_row + i64::from(low), score.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Iterates over the rows to score, counted from the first of the group.
    fn rows_to_score(&self) -> impl Iterator<Item = u16> + use<> {
        let rows = self.rows;
        (0..GROUP_RANGES)
            .zip(rows)
            .filter(|(_, rows)| *rows != 0)
            .flat_map(|(range, rows)| slots(rows).map(move |slot| range * 64 + slot))
    }

    #[inline]
    fn add_posting(
        &mut self,
        phrase: &ScoredPhrase<'_>,
        number: usize,
        low: u16,
        posting: Posting<'_>,
    ) {
        let norms = &self.scorer.norms;
        let length = norms.lengths.words_in_row(posting.row);
        let once = phrase.weight * saturate_frequency(posting.frequency, norms.norm(length));
        let slot = usize::from(low);
        let Some(score) = self.scores.get_mut(slot) else { return };
        // Repeated addition gives the same rounding as one phrase per repetition.
        for _ in 0..phrase.times {
            *score += once;
        }
        if length > LONG_ROW_WORDS {
            let weight = phrase.weight * to_f64(phrase.times as u64);
            let place = |segment| SegmentMatch { slot, segment, phrase: number, weight };
            self.long_rows.extend(posting.segments().map(place));
        }
    }
}

/// Returns a number that exceeds `value` by more than the rounding errors of sums in `f32`.
#[expect(clippy::cast_possible_truncation, reason = "the reserve exceeds the rounding error")]
fn f32_above(value: f64) -> f32 {
    (value * 1.0001) as f32
}

/// Returns the saturated term frequency: `f * (k1 + 1) / (f + norm)`.
fn saturate_frequency(frequency: f64, norm: f64) -> f64 {
    (frequency * (K1 + 1.0)) / (frequency + norm)
}

/// Returns the length-dependent part of the formula: `k1 * (1 - b + b * length / average)`.
fn length_norm(length: u32, average: f64) -> f64 {
    K1 * (1.0 - B + B * f64::from(length) / average)
}

/// Length-dependent parts of the formula.
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
        known.copied().unwrap_or_else(|| length_norm(length, self.average_length))
    }

    /// Raises the score of every long row to that of its best passage. Clears `places`.
    fn raise_to_best_passages(&self, places: &mut Vec<SegmentMatch>, scores: &mut [f64]) {
        if places.is_empty() {
            return;
        }
        let key = |place: &SegmentMatch| (place.slot, place.segment, place.phrase);
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
                let in_both =
                    |place: &&SegmentMatch| near.iter().any(|it| it.phrase == place.phrase);
                let both: f64 = here.iter().filter(in_both).map(|place| place.weight).sum();
                let all: f64 = here.iter().chain(near).map(|place| place.weight).sum();
                best = best.max((all - 2.0 * both) * once + both * twice);
                before = here;
            }
            if let Some(score) = row.first().and_then(|place| scores.get_mut(place.slot)) {
                *score = score.max(best);
            }
        }
        places.clear();
    }
}

#[cfg(test)]
mod tests {
    use vademecum_fts5::SEGMENT_WORDS;

    use super::*;
    use crate::search::top_k::{ScoredRow, TopK};

    fn postings(rows: &[(i64, f64, &[u32])]) -> Arc<Postings> {
        let mut postings = Postings::default();
        for (row, frequency, segments) in rows {
            postings.push(*row, *frequency, segments);
        }
        Arc::new(postings)
    }

    type Accept = fn(i64, u64) -> Result<u64, ()>;
    const ACCEPT_ALL: Option<Accept> = None;

    fn scores(phrases: &[Arc<Postings>], lengths: &[(i64, u32)]) -> Vec<(i64, f64)> {
        let matches = phrases.iter().map(|postings| postings.len() as u64).collect();
        let tokens: u64 = lengths.iter().map(|(_, length)| u64::from(*length)).sum();
        let statistics =
            CorpusStatistics { rows: 1_000, tokens: tokens * 10, document_frequencies: matches };
        let phrases: Vec<_> = phrases.iter().cloned().map(|postings| (postings, 1)).collect();
        let lengths = RowLengths::new(lengths.to_vec());
        let mut found = Vec::new();
        let scorer = Bm25Scorer::new(&phrases, 0, (&[], &[]), &statistics, &lengths);
        let pause = || Ok::<_, ()>(());
        let visit = |row, score| {
            found.push((row, score));
            Ok(f64::NEG_INFINITY)
        };
        let matches = scorer.find_matches(pause, ACCEPT_ALL).unwrap();
        let total = matches.total();
        scorer.score_matches(matches, pause, visit).unwrap();
        assert_eq!(total, found.len());
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

    /// Returns a number below `limit` that looks random.
    fn scatter(seed: u64, limit: u64) -> u64 {
        let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) % limit
    }

    #[test]
    fn pruned_scoring_finds_same_best_rows_as_full_scoring() {
        let rows = 200_000;
        let length = |row: i64| {
            let row = row.cast_unsigned();
            let words = if row.is_multiple_of(97) {
                600 + scatter(row, 900)
            } else {
                5 + scatter(row, 250)
            };
            u32::try_from(words).unwrap()
        };
        let lengths = RowLengths::new((0..rows).map(|row| (row, length(row))).collect());
        let phrases: Vec<(Arc<Postings>, usize)> = [(2, 1), (9, 2), (40, 1), (900, 1), (7_000, 1)]
            .into_iter()
            .map(|(one_in, times)| {
                let mut postings = Postings::default();
                for row in 0..rows {
                    let seed = row.cast_unsigned() * 10_007 + one_in;
                    if scatter(seed, one_in) == 0 {
                        let segment = scatter(seed + 5, u64::from(length(row) / SEGMENT_WORDS) + 1);
                        let frequency = [1.0, 1.0, 2.8, 4.0][usize::try_from(seed % 4).unwrap()];
                        postings.push(row, frequency, &[u32::try_from(segment).unwrap()]);
                    }
                }
                (Arc::new(postings), times)
            })
            .collect();
        let frequencies = phrases.iter().map(|(postings, _)| postings.len() as u64).collect();
        let statistics = CorpusStatistics {
            rows: 500_000,
            tokens: 60_000_000,
            document_frequencies: frequencies,
        };
        let excluded = [Arc::clone(&phrases[2].0)];
        let hidden: Vec<i64> = (0..rows).filter(|row| row % 5 == 0).collect();
        for (phrases, required, excluded, hidden) in [
            (&phrases[..], 0, &[][..], &[][..]),
            (&phrases[..2], 0, &excluded[..], &hidden[..]),
            (&phrases[1..4], 1, &[][..], &hidden[..]),
            (&phrases[..2], 2, &[][..], &[][..]),
        ] {
            let others = (excluded, hidden);
            let scorer = Bm25Scorer::new(phrases, required, others, &statistics, &lengths);
            let pause = || Ok::<_, ()>(());
            let best_of = |prune: bool| {
                let mut best = TopK::new(20);
                let mut scored = 0;
                let matches = scorer.find_matches(pause, ACCEPT_ALL).unwrap();
                let total = matches.total();
                let visited = scorer.score_matches(matches, pause, |key, score| {
                    scored += 1;
                    best.push(ScoredRow { sort_key: -score, key, score });
                    Ok(if prune { -best.threshold() } else { f64::NEG_INFINITY })
                });
                visited.unwrap();
                (best.into_parts(), total, scored)
            };
            let (all, total, scored) = best_of(false);
            let (pruned, same_total, fewer) = best_of(true);
            assert_eq!((all, total), (pruned, same_total));
            assert!(scored == total && fewer < total, "{fewer} of {total}");
        }
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
