//! BM25 scoring over postings, equal to FTS5's `bm25()`, extended by passage scores for long rows.
//!
//! The formula is Robertson's with `k1` = 1.2 and `b` = 0.75; a phrase in more than half of all
//! rows has the weight 1e-6. The operations and their order are those of FTS5, so scores are
//! bit-identical.
//!
//! Rows are visited in blocks of 65,536. The matching rows of a block are found as a set of bits,
//! which counts them. Then upper bounds of the scores of the phrases are added, and only rows whose
//! sum reaches the lowest score of interest are scored ([`super::bound_sums`]).
//!
//! A long row scores at least as high as its best passage would score as a row of its own.
//! Otherwise a book with one relevant page would rank below any short text that contains one of the
//! words.

use std::{collections::BTreeSet, sync::Arc};

use vademecum_fts5::{
    BLOCK_ROWS, LONG_ROW_WORDS, PASSAGE_WORDS, Postings, PostingsBlock, RowBits, RowLengths,
};
use vademecum_model::{CorpusStatistics, to_f64};

use super::bound_sums::{BoundScale, BoundSums, PhraseBounds};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Maximum number of rows that are scored between two calls of `pause`.
const MAX_SCORED_ROWS: usize = 1_024;
/// With fewer postings, scoring all rows is faster than adding bounds.
const MIN_BOUNDED_POSTINGS: usize = 256;

/// Finds and scores the rows that match a query.
#[derive(Debug)]
pub struct Bm25Scorer<'a> {
    phrases: Vec<ScoredPhrase<'a>>,
    required: usize,
    excluded: &'a [Arc<Postings>],
    hidden: &'a [i64],
    lengths: &'a RowLengths,
    /// Average number of words in a row.
    average_length: f64,
}

#[derive(Debug)]
struct ScoredPhrase<'a> {
    postings: &'a Postings,
    weight: f64,
    /// Number of repetitions in the query.
    times: usize,
}

/// The phrases in the segments of long rows.
#[derive(Debug, Default)]
struct SegmentWeights {
    /// By row, in the order of the scores, and by segment.
    rows: Vec<Vec<SegmentWeight>>,
}

/// Weights of the phrases in a segment of a row.
#[derive(Clone, Copy, Debug, Default)]
struct SegmentWeight {
    /// Sum of the weights of all phrases in the segment.
    all: f64,
    /// Sum of the weights of those that the segment before has as well.
    repeated: f64,
}

impl SegmentWeights {
    /// Adds a phrase to `segments` of a row, which are in ascending order.
    fn add(&mut self, row: usize, weight: f64, segments: impl Iterator<Item = u32>) {
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, Vec::new);
        }
        let Some(row) = self.rows.get_mut(row) else { return };
        let mut next = None;
        for segment in segments {
            let place = usize::try_from(segment).unwrap_or(usize::MAX);
            if row.len() <= place {
                row.resize(place + 1, SegmentWeight::default());
            }
            if let Some(sum) = row.get_mut(place) {
                sum.all += weight;
                if next == Some(segment) {
                    sum.repeated += weight;
                }
            }
            next = segment.checked_add(1);
        }
    }
}

impl<'a> Bm25Scorer<'a> {
    /// Creates a scorer for `phrases`, each with its number of repetitions in the query. The first
    /// `required` phrases must occur and no phrase of `excluded` may occur. `hidden` rows, in
    /// ascending order, do not match. `statistics` cover everything that is ranked.
    pub fn new(
        phrases: &'a [(Arc<Postings>, usize)],
        required: usize,
        (excluded, hidden): (&'a [Arc<Postings>], &'a [i64]),
        statistics: &CorpusStatistics,
        lengths: &'a RowLengths,
    ) -> Self {
        let weighted = phrases.iter().zip(statistics.phrase_weights());
        let phrases = weighted
            .map(|((postings, times), weight)| ScoredPhrase { postings, weight, times: *times })
            .collect();
        let average_length = to_f64(statistics.tokens) / to_f64(statistics.rows.max(1));
        Self { phrases, required, excluded, hidden, lengths, average_length }
    }

    /// Finds the matching rows and returns their number. Calls `visit` with the row and score of
    /// each, in no particular order. `visit` returns the lowest score that is still of interest, as
    /// a rule after `first` rows: rows that score less may be left out.
    ///
    /// `accept`, if any, is called with the first of 64 adjacent rows and the bits of those that
    /// match, and returns the bits of those that are wanted. Calls `pause` regularly, so that it can
    /// abort the loop.
    pub fn score_matches<E>(
        &self,
        first: usize,
        pause: impl FnMut() -> Result<(), E>,
        mut accept: Option<impl FnMut(i64, u64) -> Result<u64, E>>,
        visit: impl FnMut(i64, f64) -> Result<f64, E>,
    ) -> Result<usize, E> {
        let mut bounds = self.score_bounds().map(|bounds| (bounds, BoundSums::default()));
        let numbers: BTreeSet<i64> = self
            .phrases
            .iter()
            .flat_map(|phrase| phrase.postings.blocks())
            .map(|block| block.number())
            .collect();
        let mut total = 0;
        let mut scorer = BlockScorer::new(self, pause, visit);
        let mut rows = Box::<RowBits>::default();
        let mut others = Box::<RowBits>::default();
        for number in numbers {
            (scorer.pause)()?;
            let postings: Vec<Option<PostingsBlock<'a>>> =
                self.phrases.iter().map(|phrase| phrase.postings.block(number)).collect();
            self.match_block(number, &postings, &mut rows, &mut others);
            if let Some(accept) = &mut accept {
                rows.try_retain(|range, matching| {
                    accept(number * BLOCK_ROWS + i64::from(range) * 64, matching)
                })?;
            }
            let count = rows.count();
            total += count;
            if count == 0 {
                continue;
            }
            let block = Block { number, postings: &postings, rows: &rows };
            match &mut bounds {
                Some(((scale, bounds), sums)) => {
                    scorer.score_best(&block, first, *scale, bounds, sums)?;
                }
                None => scorer.score_all(&block)?,
            }
        }
        Ok(total)
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

    /// Returns the bounds of each phrase and their scale, unless there are few postings.
    fn score_bounds(&self) -> Option<(BoundScale, Vec<PhraseBounds>)> {
        let postings: usize = self.phrases.iter().map(|phrase| phrase.postings.len()).sum();
        if postings < MIN_BOUNDED_POSTINGS {
            return None;
        }
        let highest_score = |row, frequency, average| {
            let length = self.lengths.words_in_row(row);
            let score = saturate_frequency(frequency, length_norm(length, average));
            if length <= LONG_ROW_WORDS {
                return score;
            }
            score.max(saturate_frequency(2.0, length_norm(PASSAGE_WORDS, average)))
        };
        let highest = K1 + 1.0;
        let weight = |phrase: &ScoredPhrase<'_>| phrase.weight * to_f64(phrase.times as u64);
        let scale = BoundScale::new(highest * self.phrases.iter().map(weight).sum::<f64>());
        let bounds = |phrase: &ScoredPhrase<'_>| {
            let bounds = phrase.postings.score_bounds(self.average_length, highest, highest_score);
            PhraseBounds::new(bounds, highest * weight(phrase), scale)
        };
        Some((scale, self.phrases.iter().map(bounds).collect()))
    }

    fn norm(&self, length: u32) -> f64 {
        length_norm(length, self.average_length)
    }

    /// Raises the score of every long row to that of its best passage: two adjacent segments. Clears
    /// `segments`.
    fn raise_to_best_passages(&self, segments: &mut SegmentWeights, scores: &mut [f64]) {
        let norm = self.norm(PASSAGE_WORDS);
        let (once, twice) = (saturate_frequency(1.0, norm), saturate_frequency(2.0, norm));
        for (row, score) in segments.rows.iter_mut().zip(scores) {
            let mut before = 0.0;
            for SegmentWeight { all, repeated } in row.drain(..) {
                let passage = (all + before - 2.0 * repeated) * once + repeated * twice;
                *score = score.max(passage);
                before = all;
            }
        }
    }
}

/// The matches in a block.
struct Block<'b, 'a> {
    number: i64,
    /// The postings of each phrase.
    postings: &'b [Option<PostingsBlock<'a>>],
    rows: &'b RowBits,
}

/// Scores the rows of blocks.
struct BlockScorer<'s, 'a, P, V> {
    scorer: &'s Bm25Scorer<'a>,
    pause: P,
    visit: V,
    /// Lowest score of interest.
    floor: f64,
    /// The lower 16 bits of the rows that are scored together, in ascending order.
    lows: Vec<u16>,
    scores: Vec<f64>,
    segments: SegmentWeights,
}

impl<'s, 'a, E, P, V> BlockScorer<'s, 'a, P, V>
where
    P: FnMut() -> Result<(), E>,
    V: FnMut(i64, f64) -> Result<f64, E>,
{
    fn new(scorer: &'s Bm25Scorer<'a>, pause: P, visit: V) -> Self {
        Self {
            scorer,
            pause,
            visit,
            floor: f64::NEG_INFINITY,
            lows: Vec::new(),
            scores: Vec::new(),
            segments: SegmentWeights::default(),
        }
    }

    fn score_all(&mut self, block: &Block<'_, 'a>) -> Result<(), E> {
        self.lows.clear();
        self.lows.extend(block.rows.rows());
        self.score_rows(block)
    }

    /// Scores the rows whose bounds reach the lowest score of interest. If there is none yet, scores
    /// about `first` of the best rows before the others.
    fn score_best(
        &mut self,
        block: &Block<'_, 'a>,
        first: usize,
        scale: BoundScale,
        bounds: &[PhraseBounds],
        sums: &mut BoundSums,
    ) -> Result<(), E> {
        let phrases = block.postings.iter().copied().zip(bounds);
        let phrases = phrases.filter_map(|(postings, bounds)| Some((postings?, bounds)));
        let mut sums = sums.add_block(phrases, scale.lowest_sum(self.floor));
        let mut row_count = first;
        while self.floor == f64::NEG_INFINITY {
            let lowest = sums.sum_reached_by(row_count);
            sums.take_rows(block.rows, lowest, &mut self.lows);
            self.score_rows(block)?;
            if lowest == 0 {
                break;
            }
            row_count = row_count.saturating_mul(4);
        }
        sums.take_rows(block.rows, scale.lowest_sum(self.floor), &mut self.lows);
        self.score_rows(block)
    }

    /// Scores the rows of `lows`.
    fn score_rows(&mut self, block: &Block<'_, 'a>) -> Result<(), E> {
        let all = std::mem::take(&mut self.lows);
        for lows in all.chunks(MAX_SCORED_ROWS) {
            (self.pause)()?;
            self.score_phrase_by_phrase(block, lows)?;
        }
        self.lows = all;
        Ok(())
    }

    fn score_phrase_by_phrase(&mut self, block: &Block<'_, 'a>, lows: &[u16]) -> Result<(), E> {
        self.scores.clear();
        self.scores.resize(lows.len(), 0.0);
        let phrases = self.scorer.phrases.iter().zip(block.postings);
        for (phrase, postings) in phrases {
            let Some(postings) = postings else { continue };
            for (slot, posting) in postings.postings_of_rows(lows) {
                let Some(score) = self.scores.get_mut(slot) else { continue };
                let length = self.scorer.lengths.words_in_row(posting.row);
                let once =
                    phrase.weight * saturate_frequency(posting.frequency, self.scorer.norm(length));
                // Repeated addition gives the same rounding as one phrase per repetition.
                (0..phrase.times).for_each(|_| *score += once);
                if length > LONG_ROW_WORDS {
                    let weight = phrase.weight * to_f64(phrase.times as u64);
                    self.segments.add(slot, weight, posting.segments());
                }
            }
        }
        self.scorer.raise_to_best_passages(&mut self.segments, &mut self.scores);
        for (low, score) in lows.iter().zip(&self.scores) {
            self.floor = (self.visit)(block.number * BLOCK_ROWS + i64::from(*low), *score)?;
        }
        Ok(())
    }
}

/// Returns the saturated term frequency: `f * (k1 + 1) / (f + norm)`.
pub(crate) fn saturate_frequency(frequency: f64, norm: f64) -> f64 {
    (frequency * (K1 + 1.0)) / (frequency + norm)
}

/// Returns the length-dependent part of the formula: `k1 * (1 - b + b * length / average)`.
pub(crate) fn length_norm(length: u32, average: f64) -> f64 {
    K1 * (1.0 - B + B * f64::from(length) / average)
}

#[cfg(test)]
mod tests {
    use vademecum_fts5::SEGMENT_WORDS;

    use super::*;
    use crate::{ScoredRow, TopK};

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
        let total = scorer.score_matches(20, pause, ACCEPT_ALL, visit).unwrap();
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
        let common_and_rare = [phrases[0].clone(), phrases[4].clone()];
        for (phrases, required, excluded, hidden) in [
            (&phrases[..], 0, &[][..], &[][..]),
            (&phrases[..2], 0, &excluded[..], &hidden[..]),
            (&phrases[1..4], 1, &[][..], &hidden[..]),
            (&phrases[..2], 2, &[][..], &[][..]),
            // Few postings in a block.
            (&phrases[2..], 0, &[][..], &hidden[..]),
            (&phrases[3..], 0, &[][..], &[][..]),
            // A phrase that is left out of the sums.
            (&common_and_rare[..], 0, &[][..], &hidden[..]),
            (&common_and_rare[..], 2, &[][..], &[][..]),
        ] {
            let others = (excluded, hidden);
            let scorer = Bm25Scorer::new(phrases, required, others, &statistics, &lengths);
            let pause = || Ok::<_, ()>(());
            let best_of = |limit: usize, prune: bool| {
                let mut best = TopK::new(limit);
                let mut scored = 0;
                let first = best.rows_before_threshold();
                let total = scorer.score_matches(first, pause, ACCEPT_ALL, |key, score| {
                    scored += 1;
                    best.push(ScoredRow { sort_key: -score, key, score });
                    Ok(if prune { -best.threshold() } else { f64::NEG_INFINITY })
                });
                (best.into_parts(), total.unwrap(), scored)
            };
            for limit in [1, 20, 700] {
                let (all, total, scored) = best_of(limit, false);
                let (pruned, same_total, fewer) = best_of(limit, true);
                assert_eq!((all, total), (pruned, same_total));
                assert_eq!(scored, total);
                let few = total < MIN_BOUNDED_POSTINGS.max(40 * limit);
                assert!(fewer < total / 2 || few, "{fewer} of {total}");
            }
        }
    }

    #[test]
    fn long_scoring_pauses_and_can_be_aborted() {
        let rows: Vec<_> = (0..10_240).map(|row| (row, 1.0, &[][..])).collect();
        let phrases = [(postings(&rows), 1)];
        let lengths = RowLengths::new(rows.iter().map(|(row, ..)| (*row, 10)).collect());
        let statistics =
            CorpusStatistics { rows: 1 << 20, tokens: 10 << 20, document_frequencies: vec![10] };
        let scorer = Bm25Scorer::new(&phrases, 0, (&[], &[]), &statistics, &lengths);
        let mut pauses = 0;
        let mut visited = 0;
        let pause = || {
            pauses += 1;
            if pauses > 5 { Err(()) } else { Ok(()) }
        };
        let visit = |_, _| {
            visited += 1;
            Ok(f64::NEG_INFINITY)
        };
        assert_eq!(scorer.score_matches(usize::MAX, pause, ACCEPT_ALL, visit), Err(()));
        assert_eq!((pauses, visited), (6, 4 * MAX_SCORED_ROWS));
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
