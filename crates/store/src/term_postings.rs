//! The postings of alternative terms, decoded from the pages of a full-text table.
//!
//! FTS5 gives the rows of an expression one by one, through its virtual table and a function, which
//! costs several times as much as decoding its pages (`docs/adr/0061-decoded-postings.md`).

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use vademecum_fts5::{Alternatives, Postings, SEGMENT_WORDS};

use super::doclist::{Doclist, DoclistCursor, for_each_position};

/// The rows of one of the alternatives in one segment.
#[derive(Debug)]
pub(super) struct TermRows {
    /// Position of the term among the alternatives.
    pub(super) alternative: usize,
    /// The rows.
    pub(super) rows: Doclist,
    /// Rows that were removed from the segment, in ascending order.
    pub(super) removed: Arc<[i64]>,
}

/// How the occurrences of terms count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights<'a> {
    /// Weights of the alternatives.
    pub(super) alternatives: Alternatives,
    /// Weight of each column, if it is searched.
    pub(super) columns: &'a [Option<f64>],
}

/// Returns the postings of alternative terms, of which each counts in a row if `counts` says so. The
/// segments of a row are kept if it `is_long`. Returns `None` if a list is malformed.
pub(super) fn merge_postings(
    terms: &[TermRows],
    weights: Weights<'_>,
    is_long: impl Fn(i64) -> bool,
    counts: impl Fn(i64, usize) -> bool,
) -> Option<Postings> {
    let mut postings = Postings::default();
    let mut places = Places { weights, frequency: None, of_row: Vec::new(), segments: Vec::new() };
    let mut counted = Vec::new();
    merge_rows(terms, |row, lists, list_at| {
        counted.clear();
        for index in lists {
            let (alternative, _) = list_at(*index)?;
            counted.extend(counts(row, alternative).then_some(*index));
        }
        places.weigh(&counted, list_at, is_long(row))?;
        if let Some(frequency) = places.frequency {
            postings.push(row, frequency, &places.segments);
        }
        Some(())
    })?;
    postings.shrink_to_fit();
    Some(postings)
}

/// Returns the number of rows with any of the terms, or `None` if a list is malformed.
pub(super) fn count_rows(terms: &[TermRows]) -> Option<u64> {
    let mut rows = 0;
    merge_rows(terms, |_, lists, list_at| {
        rows +=
            u64::from(lists.iter().any(|index| list_at(*index).is_some_and(|it| !it.1.is_empty())));
        Some(())
    })?;
    Some(rows)
}

/// Returns the alternative and the positions of the list with an index.
type ListAt<'l> = dyn Fn(usize) -> Option<(usize, &'l [u8])> + 'l;

/// Calls `visit` for each row of the terms, in ascending order, with the indexes of the lists that have it.
/// Terms are given by alternative, and for each the newest segment first. Returns `None` if a list is
/// malformed, or if `visit` does.
fn merge_rows(
    terms: &[TermRows],
    mut visit: impl FnMut(i64, &[usize], &ListAt<'_>) -> Option<()>,
) -> Option<()> {
    let mut cursors: Vec<_> = terms.iter().map(|term| DoclistCursor::new(&term.rows)).collect();
    let mut waiting = BinaryHeap::with_capacity(cursors.len());
    for (index, cursor) in cursors.iter_mut().enumerate() {
        if cursor.advance()? {
            waiting.push(Reverse((cursor.row(), index)));
        }
    }
    let (mut at_row, mut lists) = (Vec::new(), Vec::new());
    while let Some(Reverse((row, first))) = waiting.pop() {
        at_row.push(first);
        while let Some(&Reverse((other, index))) = waiting.peek()
            && other == row
        {
            waiting.pop();
            at_row.push(index);
        }
        let mut last = None;
        for &index in &at_row {
            let term = terms.get(index)?;
            // The newest segment is right, also if it says that the row was removed.
            let is_newest = last.replace(term.alternative) != Some(term.alternative);
            if is_newest && term.removed.binary_search(&row).is_err() {
                lists.push(index);
            }
        }
        let list_at =
            |index: usize| Some((terms.get(index)?.alternative, cursors.get(index)?.positions()));
        visit(row, &lists, &list_at)?;
        lists.clear();
        for index in at_row.drain(..) {
            let cursor = cursors.get_mut(index)?;
            if cursor.advance()? {
                waiting.push(Reverse((cursor.row(), index)));
            }
        }
    }
    Some(())
}

/// The places of the terms in one row.
struct Places<'a> {
    weights: Weights<'a>,
    /// Sum of the weights of all places, if there are any.
    frequency: Option<f64>,
    /// Column, offset and alternative of each place.
    of_row: Vec<(usize, u32, usize)>,
    /// Segments with a place, in ascending order; empty if only the first one has some.
    segments: Vec<u32>,
}

impl Places<'_> {
    /// Sets the sum of the weights of all places in the lists, in the order of the places, and the
    /// segments if they are wanted. A place of several alternatives counts as the first of them. Returns
    /// `None` if a list is malformed.
    fn weigh(&mut self, lists: &[usize], list_at: &ListAt<'_>, wants_segments: bool) -> Option<()> {
        let Self { weights: Weights { alternatives, columns }, frequency, of_row, segments } = self;
        segments.clear();
        let column_weight = |column: usize| columns.get(column).copied().flatten();
        let mut note_segment = |offset: u32| {
            let segment = offset / SEGMENT_WORDS;
            if wants_segments && segments.last() != Some(&segment) {
                segments.push(segment);
            }
        };
        *frequency = None;
        if let [only] = lists {
            let (alternative, list) = list_at(*only)?;
            let times = alternatives.weight(alternative);
            for_each_position(list, |column, offset| {
                let Some(weight) = column_weight(column) else { return };
                *frequency.get_or_insert(0.0) += weight * times;
                note_segment(offset);
            })?;
        } else {
            of_row.clear();
            for index in lists {
                let (alternative, list) = list_at(*index)?;
                for_each_position(list, |column, offset| {
                    of_row.push((column, offset, alternative));
                })?;
            }
            // The first alternative at a place has the greatest weight.
            of_row.sort_unstable();
            of_row.dedup_by_key(|(column, offset, _)| (*column, *offset));
            for (column, offset, alternative) in of_row.iter().copied() {
                let Some(weight) = column_weight(column) else { continue };
                *frequency.get_or_insert(0.0) += weight * alternatives.weight(alternative);
                note_segment(offset);
            }
        }
        if segments.iter().any(|segment| *segment > 0) {
            segments.sort_unstable();
            segments.dedup();
        } else {
            segments.clear();
        }
        Some(())
    }
}
