//! Postings of a phrase: the rows that contain it and its frequency in each.

use std::{cell::RefCell, ops::RangeInclusive, rc::Rc};

use rusqlite::{Statement, ToSql, types::ToSqlOutput};

/// Length of a segment in words. Long rows are divided into segments.
pub const SEGMENT_WORDS: u32 = 128;

/// Rows that contain a phrase, in ascending order, with the weighted frequency of the phrase. Each
/// occurrence counts with the weight of its column.
///
/// For rows longer than one segment, the segments that contain the phrase are stored too, so that
/// passages can be scored separately.
///
/// The encoding is compact, because common words have many postings: two bytes per row where row
/// numbers are close together.
#[derive(Clone, Debug, Default)]
pub struct Postings {
    /// For each row, as varints: the difference to the previous row number, then twice the index
    /// into `frequencies`, plus 1 if segments follow. Segments are stored as their length in bytes
    /// and the difference of each to the previous one.
    bytes: Vec<u8>,
    /// Distinct frequencies.
    frequencies: Vec<f64>,
    row_count: usize,
    last_row: i64,
}

impl Postings {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.row_count
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Returns the memory size in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + self.frequencies.capacity() * size_of::<f64>()
    }

    /// Returns the distinct frequencies, indexed by [`Posting::frequency_index`].
    pub fn frequencies(&self) -> &[f64] {
        &self.frequencies
    }

    /// Iterates over the rows in ascending order.
    pub fn rows(&self) -> PostingsCursor<'_> {
        PostingsCursor { bytes: &self.bytes, row: 0 }
    }

    /// Returns a copy in which the postings of `rows` are replaced by `others`. `rows` must be in
    /// ascending order.
    #[must_use]
    pub fn with_rows_replaced(&self, rows: &[i64], others: &Self) -> Self {
        let mut changed = Self::default();
        let mut new = others.rows().peekable();
        for posting in self.rows() {
            while let Some(before) = new.next_if(|new| new.row <= posting.row) {
                changed.push_posting(&before, others);
            }
            if rows.binary_search(&posting.row).is_err() {
                changed.push_posting(&posting, self);
            }
        }
        new.for_each(|posting| changed.push_posting(&posting, others));
        changed.bytes.shrink_to_fit();
        changed
    }

    /// Appends the rows of `others`, which must come after all existing rows.
    pub fn append(&mut self, others: &Self) {
        others.rows().for_each(|posting| self.push_posting(&posting, others));
    }

    fn push_posting(&mut self, posting: &Posting<'_>, of: &Self) {
        if let Some(frequency) = of.frequencies.get(posting.frequency_index) {
            let segments: Vec<u32> = posting.segments().collect();
            self.push(posting.row, *frequency, &segments);
        }
    }

    /// Appends a row, which must come after all existing rows. Segments are in ascending order;
    /// they may be empty if the phrase occurs only in the first one.
    pub fn push(&mut self, row: i64, frequency: f64, segments: &[u32]) {
        let known = self.frequencies.iter().position(|it| *it == frequency);
        let number = known.unwrap_or_else(|| {
            self.frequencies.push(frequency);
            self.frequencies.len() - 1
        });
        write_varint(&mut self.bytes, row.wrapping_sub(self.last_row).cast_unsigned());
        let number = 2 * number as u64;
        if segments.last().is_none_or(|last| *last == 0) {
            write_varint(&mut self.bytes, number);
        } else {
            let mut list = Vec::with_capacity(segments.len());
            let mut before = 0;
            for segment in segments {
                write_varint(&mut list, u64::from(segment.saturating_sub(before)));
                before = *segment;
            }
            write_varint(&mut self.bytes, number + 1);
            write_varint(&mut self.bytes, list.len() as u64);
            self.bytes.extend_from_slice(&list);
        }
        self.last_row = row;
        self.row_count += 1;
    }
}

/// A row that contains a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting<'a> {
    /// Row number.
    pub row: i64,
    /// Index of the frequency in [`Postings::frequencies`].
    pub frequency_index: usize,
    segments: &'a [u8],
}

impl Posting<'_> {
    /// Returns the segments in which the phrase starts, in ascending order. Each segment is
    /// [`SEGMENT_WORDS`] words long.
    pub fn segments(&self) -> impl Iterator<Item = u32> {
        let mut bytes = self.segments;
        let mut segment = 0;
        let first = bytes.is_empty().then_some(0);
        let others = std::iter::from_fn(move || {
            segment += u32::try_from(read_varint(&mut bytes)?).unwrap_or(u32::MAX);
            Some(segment)
        });
        first.into_iter().chain(others)
    }
}

/// Iterator over postings.
#[derive(Clone, Debug)]
pub struct PostingsCursor<'a> {
    bytes: &'a [u8],
    row: i64,
}

impl<'a> Iterator for PostingsCursor<'a> {
    type Item = Posting<'a>;

    #[inline]
    fn next(&mut self) -> Option<Posting<'a>> {
        // Fast path: both numbers usually fit into one byte, without segments.
        if let [gap @ 0..0x80, number @ 0..0x80, rest @ ..] = self.bytes
            && number & 1 == 0
        {
            self.bytes = rest;
            self.row += i64::from(*gap);
            return Some(Posting {
                row: self.row,
                frequency_index: usize::from(number >> 1),
                segments: &[],
            });
        }
        let gap = read_varint(&mut self.bytes)?;
        let number = read_varint(&mut self.bytes)?;
        let mut segments: &[u8] = &[];
        if number & 1 == 1 {
            let length = usize::try_from(read_varint(&mut self.bytes)?).ok()?;
            (segments, self.bytes) = self.bytes.split_at_checked(length)?;
        }
        self.row = self.row.wrapping_add(gap.cast_signed());
        let number = usize::try_from(number >> 1).unwrap_or(usize::MAX);
        Some(Posting { row: self.row, frequency_index: number, segments })
    }
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return bytes.push(low & 0x7F);
        }
        bytes.push(low | 0x80);
    }
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (length, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * length);
        if *byte < 0x80 {
            *bytes = bytes.get(length + 1..)?;
            return Some(value);
        }
    }
    None
}

/// Weights of the phrases of an expression that are alternatives for the same word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternatives {
    /// Number of phrases with the weight 1, which come first.
    pub exact: usize,
    /// Weight of the other phrases, at most 1.
    pub variant_weight: f64,
}

impl Default for Alternatives {
    /// All phrases have the weight 1.
    fn default() -> Self {
        Self { exact: usize::MAX, variant_weight: 1.0 }
    }
}

impl Alternatives {
    pub(crate) fn weight(&self, phrase: i32) -> f64 {
        let is_exact = usize::try_from(phrase).is_ok_and(|phrase| phrase < self.exact);
        if is_exact { 1.0 } else { self.variant_weight }
    }
}

/// Collects postings while a statement runs.
#[derive(Debug, Default)]
pub(crate) struct PostingsSink {
    pub(crate) weights: Vec<f64>,
    pub(crate) alternatives: Alternatives,
    pub(crate) postings: Postings,
    /// Column, offset and phrase of each match in the current row, if the expression has several
    /// phrases.
    pub(crate) positions: Vec<(i32, i32, i32)>,
    /// Segments with matches in the current row.
    pub(crate) segments: Vec<u32>,
}

/// Binds a sink as a statement parameter.
#[derive(Debug)]
struct SinkParameter(Rc<RefCell<PostingsSink>>);

impl ToSql for SinkParameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from_rc(Rc::clone(&self.0), crate::ffi::SINK_POINTER_TYPE))
    }
}

/// Collects the postings of a match expression: one phrase, or several alternatives for the same
/// word. A position that several alternatives match counts once, as the first of them.
///
/// The statement has the form `… WHERE <table> MATCH :phrase AND rowid BETWEEN :first AND :last AND
/// vademecum_postings(<table>, :sink)`. Column `i` has the weight `weights[i]`, or 1 if there is
/// none, as in FTS5's `bm25()`.
///
/// # Errors
/// Returns the error of the statement, including an interruption.
pub fn collect_postings(
    statement: &mut Statement<'_>,
    phrase: &str,
    alternatives: Alternatives,
    rows: RangeInclusive<i64>,
    weights: &[f64],
) -> rusqlite::Result<Postings> {
    let weights = weights.to_vec();
    let sink = PostingsSink { weights, alternatives, ..PostingsSink::default() };
    let sink = Rc::new(RefCell::new(sink));
    let ran = statement
        .query(rusqlite::named_params! {
            ":phrase": phrase,
            ":first": rows.start(),
            ":last": rows.end(),
            ":sink": SinkParameter(Rc::clone(&sink)),
        })
        .and_then(|mut rows| rows.next().map(|_| ()));
    // Releases the sink now instead of at the next use of the statement.
    statement.clear_bindings();
    ran?;
    let mut postings = std::mem::take(&mut sink.borrow_mut().postings);
    postings.bytes.shrink_to_fit();
    Ok(postings)
}
