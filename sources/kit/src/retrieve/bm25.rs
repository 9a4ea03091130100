//! BM25 over postings, as FTS5's `bm25()` computes it.
//!
//! The formula is Robertson's with `k1` = 1.2 and `b` = 0.75; a phrase in more
//! than half of all rows counts a millionth. The operations and their order
//! are those of FTS5, so that the scores are the same to the last bit. A
//! window of rows is scored phrase by phrase, so that nothing is merged or
//! sorted and what is being added up stays in the processor's cache.

use std::sync::Arc;

use vademecum_fts5::{Cursor, Postings};

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

/// What the score of a row is made of.
pub(crate) struct Scorer<'a> {
    lists: Vec<List<'a>>,
    required: u16,
    lengths: &'a Lengths,
    average: f64,
    by_length: Vec<f64>,
}

struct List<'a> {
    rows: Cursor<'a>,
    next: Option<(i64, usize)>,
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

impl<'a> Scorer<'a> {
    /// Scores rows by `phrases`, of which the first `required` must occur, and
    /// none of `excluded` may. Each comes with how often it was said. `statistics` are over everything that is ranked.
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
        // For few rows it is not worth it.
        let known = if postings > LENGTHS { LENGTHS } else { 0 };
        let lengths_known = 0..u32::try_from(known).unwrap_or(0);
        Self {
            lists: scored.chain(dropped).collect(),
            required: u16::try_from(required).unwrap_or(u16::MAX),
            lengths,
            average,
            by_length: lengths_known.map(|length| norm(length, average)).collect(),
        }
    }

    /// Hands every row that matches to `visit`, with its score, in no
    /// particular order.
    pub(crate) fn each<E>(
        mut self,
        mut visit: impl FnMut(i64, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut slots = vec![Slot::default(); SLOTS];
        let mut touched: Vec<u16> = Vec::with_capacity(SLOTS);
        while let Some(first) = self.lists.iter().filter_map(|list| Some(list.next?.0)).min() {
            let start = first.div_euclid(WINDOW) * WINDOW;
            for list in &mut self.lists {
                let (lengths, average, by_length) = (self.lengths, self.average, &self.by_length);
                list.add_to(start, &mut slots, &mut touched, |row| {
                    let length = lengths.of(row);
                    let known = usize::try_from(length).ok().and_then(|it| by_length.get(it));
                    known.copied().unwrap_or_else(|| norm(length, average))
                });
            }
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

/// The part of the formula that depends on the length of a row only.
fn norm(length: u32, average: f64) -> f64 {
    K1 * (1.0 - B + B * f64::from(length) / average)
}

impl<'a> List<'a> {
    fn new(postings: &'a Postings, weight: Option<(f64, usize)>, required: bool) -> Self {
        let mut rows = postings.rows();
        let next = rows.next();
        Self { rows, next, frequencies: postings.frequencies(), weight, required }
    }

    /// Adds the rows of the window that begins at `start`.
    fn add_to(
        &mut self,
        start: i64,
        slots: &mut [Slot],
        touched: &mut Vec<u16>,
        norm: impl Fn(i64) -> f64,
    ) {
        while let Some((row, number)) = self.next {
            let place = row - start;
            if place >= WINDOW {
                return;
            }
            self.next = self.rows.next();
            let Some(slot) = usize::try_from(place).ok().and_then(|place| slots.get_mut(place))
            else {
                continue;
            };
            if !slot.matched && !slot.dropped {
                touched.push(u16::try_from(place).unwrap_or(0));
            }
            match (self.weight, self.frequencies.get(number)) {
                (Some((weight, times)), Some(&frequency)) => {
                    let once = weight * ((frequency * (K1 + 1.0)) / (frequency + norm(row)));
                    // As if it were a phrase of its own each time.
                    for _ in 0..times {
                        slot.score += once;
                    }
                    slot.matched = true;
                    slot.required += u16::from(self.required);
                }
                _ => slot.dropped = true,
            }
        }
    }
}
