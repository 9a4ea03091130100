//! BM25 over postings, as FTS5's `bm25()` computes it, and over passages.
//!
//! The formula is Robertson's with `k1` = 1.2 and `b` = 0.75; a phrase in more
//! than half of all rows counts a millionth. The operations and their order
//! are those of FTS5, so that the scores are the same to the last bit. A
//! window of rows is scored phrase by phrase, so that nothing is merged or
//! sorted and what is being added up stays in the processor's cache.
//!
//! A long row is at least as good as its best passage would be if it stood
//! alone: otherwise a book with one page about what is looked for would come
//! after any short text with one word of it.

use std::sync::Arc;

use vademecum_fts5::{Cursor, Posting, Postings, SEGMENT};

use crate::{
    model::{Statistics, count},
    store::Lengths,
};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Rows that are scored at once.
const WINDOW: i64 = 4_096;
const SLOTS: usize = 4_096;
/// Lengths for which the part of the formula that depends on them is computed once.
const LENGTHS: usize = 1_024;

/// Words of a passage: two segments that follow each other.
const PASSAGE: u32 = 2 * SEGMENT;
/// Rows of more words than this are looked at by passages too.
const LONG: u32 = 2 * PASSAGE;

/// What the score of a row is made of.
pub(crate) struct Scorer<'a> {
    lists: Vec<List<'a>>,
    required: u16,
    norms: Norms<'a>,
}

struct List<'a> {
    rows: Cursor<'a>,
    next: Option<Posting<'a>>,
    frequencies: &'a [f64],
    /// What it adds to a row and how often, or `None` if it drops the row.
    weight: Option<(f64, usize)>,
    required: bool,
}

/// What is known of a row in the window.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    score: f64,
    required: u16,
    matched: bool,
    dropped: bool,
}

/// A phrase in a segment of a long row.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Place {
    slot: u16,
    segment: u32,
    list: usize,
    weight: f64,
}

impl<'a> Scorer<'a> {
    /// Scores rows by `phrases`, of which the first `required` must occur, and
    /// none of `excluded` may. Each comes with how often it was said.
    /// `statistics` are over everything that is ranked.
    pub(crate) fn new(
        phrases: &'a [(Arc<Postings>, usize)],
        required: usize,
        excluded: &'a [Arc<Postings>],
        statistics: &Statistics,
        lengths: &'a Lengths,
    ) -> Self {
        let scored = phrases.iter().zip(statistics.weights()).zip(0..);
        let scored = scored.map(|(((postings, times), weight), index)| {
            List::new(postings, Some((weight, *times)), index < required)
        });
        let dropped = excluded.iter().map(|postings| List::new(postings, None, false));
        let average = count(statistics.tokens) / count(statistics.rows.max(1));
        let postings: usize = phrases.iter().map(|(postings, _)| postings.len()).sum();
        Self {
            lists: scored.chain(dropped).collect(),
            required: u16::try_from(required).unwrap_or(u16::MAX),
            norms: Norms::new(lengths, average, postings),
        }
    }

    /// Hands every row that matches to `visit`, with its score, in no
    /// particular order. `pause` is called now and then.
    pub(crate) fn each<E>(
        mut self,
        mut pause: impl FnMut() -> Result<(), E>,
        mut visit: impl FnMut(i64, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut slots = vec![Slot::default(); SLOTS];
        let mut touched: Vec<u16> = Vec::with_capacity(SLOTS);
        let mut places: Vec<Place> = Vec::new();
        while let Some(first) = self.lists.iter().filter_map(|list| Some(list.next?.row)).min() {
            let start = first.div_euclid(WINDOW) * WINDOW;
            for (number, list) in self.lists.iter_mut().enumerate() {
                pause()?;
                list.add_to(
                    start,
                    &mut slots,
                    &mut touched,
                    &self.norms,
                    |slot, posting, weight| {
                        let segments = posting.segments();
                        places.extend(segments.map(|segment| Place {
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
                if found.matched && !found.dropped && found.required == self.required {
                    visit(start + i64::from(slot), found.score)?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> List<'a> {
    fn new(postings: &'a Postings, weight: Option<(f64, usize)>, required: bool) -> Self {
        let mut rows = postings.rows();
        let next = rows.next();
        Self { rows, next, frequencies: postings.frequencies(), weight, required }
    }

    /// Adds the rows of the window that begins at `start`; hands those that
    /// are long to `is_long`.
    fn add_to(
        &mut self,
        start: i64,
        slots: &mut [Slot],
        touched: &mut Vec<u16>,
        norms: &Norms<'_>,
        mut is_long: impl FnMut(u16, Posting<'a>, f64),
    ) {
        while let Some(posting) = self.next {
            let place = posting.row.saturating_sub(start);
            if place >= WINDOW {
                return;
            }
            self.next = self.rows.next();
            let Ok(number) = u16::try_from(place) else { continue };
            let Some(slot) = slots.get_mut(usize::from(number)) else { continue };
            if !slot.matched && !slot.dropped {
                touched.push(number);
            }
            match (self.weight, self.frequencies.get(posting.number)) {
                (Some((weight, times)), Some(&frequency)) => {
                    let length = norms.lengths.of(posting.row);
                    let once = weight * saturated(frequency, norms.of(length));
                    // As if it were a phrase of its own each time.
                    for _ in 0..times {
                        slot.score += once;
                    }
                    slot.matched = true;
                    slot.required += u16::from(self.required);
                    if length > LONG {
                        is_long(number, posting, weight * count(times as u64));
                    }
                }
                _ => slot.dropped = true,
            }
        }
    }
}

/// What a phrase adds for its weight that occurs so often.
fn saturated(frequency: f64, norm: f64) -> f64 {
    (frequency * (K1 + 1.0)) / (frequency + norm)
}

/// The part of the formula that depends on the length of a row only.
struct Norms<'a> {
    lengths: &'a Lengths,
    average: f64,
    by_length: Vec<f64>,
}

impl<'a> Norms<'a> {
    fn new(lengths: &'a Lengths, average: f64, postings: usize) -> Self {
        let mut norms = Self { lengths, average, by_length: Vec::new() };
        // For few rows it is not worth it.
        if postings > LENGTHS {
            let known = 0..u32::try_from(LENGTHS).unwrap_or(0);
            norms.by_length = known.map(|length| norms.of(length)).collect();
        }
        norms
    }

    #[inline]
    fn of(&self, length: u32) -> f64 {
        let known = usize::try_from(length).ok().and_then(|length| self.by_length.get(length));
        known.copied().unwrap_or_else(|| K1 * (1.0 - B + B * f64::from(length) / self.average))
    }

    /// Gives every long row at least the score of its best passage. Takes all
    /// places.
    fn raise_to_best_passages(&self, places: &mut Vec<Place>, slots: &mut [Slot]) {
        if places.is_empty() {
            return;
        }
        let key = |place: &Place| (place.slot, place.segment, place.list);
        places.sort_unstable_by_key(key);
        let norm = self.of(PASSAGE);
        let (once, twice) = (saturated(1.0, norm), saturated(2.0, norm));
        for row in places.chunk_by(|one, next| one.slot == next.slot) {
            let mut best: f64 = 0.0;
            let mut before: &[Place] = &[];
            for here in row.chunk_by(|one, next| one.segment == next.segment) {
                let follows = |last: &Place, first: &Place| last.segment + 1 == first.segment;
                let near = match (before.last(), here.first()) {
                    (Some(last), Some(first)) if follows(last, first) => before,
                    _ => &[],
                };
                let in_both = |place: &&Place| near.iter().any(|it| it.list == place.list);
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
        let statistics = Statistics { rows: 1_000, tokens: tokens * 10, matches };
        let phrases: Vec<_> = phrases.iter().cloned().map(|postings| (postings, 1)).collect();
        let lengths = Lengths::new(lengths.to_vec());
        let mut found = Vec::new();
        let scorer = Scorer::new(&phrases, 0, &[], &statistics, &lengths);
        let pause = || Ok::<_, ()>(());
        let visit = |row, score| {
            found.push((row, score));
            Ok(())
        };
        scorer.each(pause, visit).unwrap();
        found.sort_by_key(|(row, _)| *row);
        found
    }

    #[test]
    fn a_long_row_is_as_good_as_its_best_passage() {
        // Row 1 has both words on one page, row 2 on pages far apart.
        let phrases = [
            postings(&[(1, 1.0, &[40]), (2, 1.0, &[3])]),
            postings(&[(1, 1.0, &[41]), (2, 1.0, &[70])]),
        ];
        let found = scores(&phrases, &[(1, 50_000), (2, 50_000), (3, 200)]);
        assert!(found[0].1 > 1.9 * found[1].1, "{found:?}");
        // A page that stands alone has the same score.
        let alone = [postings(&[(1, 1.0, &[])]), postings(&[(1, 1.0, &[])])];
        let page = scores(&alone, &[(1, PASSAGE), (2, 50_000), (3, 50_000 - PASSAGE + 200)]);
        let long = [postings(&[(1, 1.0, &[40])]), postings(&[(1, 1.0, &[41])])];
        let book = scores(&long, &[(1, 50_000), (3, 50_000), (4, 200)]);
        assert!((page[0].1 - book[0].1).abs() < 1e-9, "{page:?} {book:?}");
    }

    #[test]
    fn a_phrase_on_neighbouring_segments_counts_twice_and_not_more() {
        let once = scores(&[postings(&[(1, 9.0, &[5])])], &[(1, 90_000), (2, 10)]);
        let near = scores(&[postings(&[(1, 9.0, &[5, 6, 7])])], &[(1, 90_000), (2, 10)]);
        let far = scores(&[postings(&[(1, 9.0, &[5, 90])])], &[(1, 90_000), (2, 10)]);
        assert!(near[0].1 > once[0].1 && (far[0].1 - once[0].1).abs() < 1e-12);
    }

    #[test]
    fn rows_far_apart_and_below_zero_are_scored() {
        let rows = [(-5_000, 1.0, &[][..]), (-1, 1.0, &[]), (0, 1.0, &[]), (1 << 40, 1.0, &[])];
        let lengths: Vec<_> = rows.iter().map(|(row, ..)| (*row, 10)).collect();
        let found = scores(&[postings(&rows)], &lengths);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|(_, score)| *score == found[0].1));
    }
}
