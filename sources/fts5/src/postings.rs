//! The postings of a phrase: which rows it stands in, and how often.

use std::{cell::RefCell, ops::RangeInclusive, rc::Rc};

use rusqlite::{Statement, ToSql, types::ToSqlOutput};

/// Which rows a phrase stands in, in ascending order, and how often, every
/// occurrence counted with the weight of its column.
///
/// Kept small, because those of common words are many: two bytes for a row
/// where rows are close together.
#[derive(Clone, Debug, Default)]
pub struct Postings {
    /// For each row the distance from the one before, and a number in `frequencies`.
    bytes: Vec<u8>,
    /// The frequencies that occur, each once.
    frequencies: Vec<f64>,
    count: usize,
    last: i64,
}

impl Postings {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The memory it takes, in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + self.frequencies.capacity() * size_of::<f64>()
    }

    /// The frequencies that occur; a posting names one by its place here.
    pub fn frequencies(&self) -> &[f64] {
        &self.frequencies
    }

    /// The rows, ascending, each with the number of its frequency.
    pub fn rows(&self) -> Cursor<'_> {
        Cursor { bytes: &self.bytes, row: 0 }
    }

    /// The same, but with `others` in the place of `rows`, which are sorted.
    #[must_use]
    pub fn with(&self, rows: &[i64], others: &[(i64, f64)]) -> Self {
        let mut changed = Self::default();
        let mut others = others.iter().copied().peekable();
        for (row, number) in self.rows() {
            while let Some((before, frequency)) = others.next_if(|(other, _)| *other <= row) {
                changed.push(before, frequency);
            }
            if rows.binary_search(&row).is_err()
                && let Some(frequency) = self.frequencies.get(number)
            {
                changed.push(row, *frequency);
            }
        }
        others.for_each(|(row, frequency)| changed.push(row, frequency));
        changed.bytes.shrink_to_fit();
        changed
    }

    /// Adds a row that comes after all others.
    pub fn push(&mut self, row: i64, frequency: f64) {
        let known = self.frequencies.iter().position(|it| *it == frequency);
        let number = known.unwrap_or_else(|| {
            self.frequencies.push(frequency);
            self.frequencies.len() - 1
        });
        write_varint(&mut self.bytes, row.wrapping_sub(self.last).cast_unsigned());
        write_varint(&mut self.bytes, number as u64);
        self.last = row;
        self.count += 1;
    }
}

/// Goes through postings.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    row: i64,
}

impl Iterator for Cursor<'_> {
    type Item = (i64, usize);

    #[inline]
    fn next(&mut self) -> Option<(i64, usize)> {
        // Nearly always both fit into a byte.
        if let [gap @ 0..0x80, number @ 0..0x80, rest @ ..] = self.bytes {
            self.bytes = rest;
            self.row += i64::from(*gap);
            return Some((self.row, usize::from(*number)));
        }
        let gap = read_varint(&mut self.bytes)?;
        let number = read_varint(&mut self.bytes)?;
        self.row = self.row.wrapping_add(gap.cast_signed());
        Some((self.row, usize::try_from(number).unwrap_or(usize::MAX)))
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

/// Where postings are collected while a statement runs.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) weights: Vec<f64>,
    pub(crate) postings: Postings,
    /// The places in the row that is being read, where there are several phrases.
    pub(crate) places: Vec<(i32, i32)>,
}

/// Hands a sink to a statement.
#[derive(Debug)]
struct Handed(Rc<RefCell<Sink>>);

impl ToSql for Handed {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from_rc(Rc::clone(&self.0), crate::ffi::SINK))
    }
}

/// Collects the postings of a match expression: of one phrase, or of several
/// that stand for the same word, so that a place where two of them stand
/// counts once.
///
/// The statement reads `… WHERE <table> MATCH :phrase AND rowid BETWEEN :first
/// AND :last AND vademecum_postings(<table>, :sink)`. Column `i` counts with `weights[i]`; columns without a weight
/// count 1, as in FTS5's `bm25()`.
///
/// # Errors
/// Those of the statement, an interruption among them.
pub fn collect(
    statement: &mut Statement<'_>,
    phrase: &str,
    rows: RangeInclusive<i64>,
    weights: &[f64],
) -> rusqlite::Result<Postings> {
    let sink =
        Sink { weights: weights.to_vec(), postings: Postings::default(), places: Vec::new() };
    let sink = Rc::new(RefCell::new(sink));
    let ran = statement
        .query(rusqlite::named_params! {
            ":phrase": phrase,
            ":first": rows.start(),
            ":last": rows.end(),
            ":sink": Handed(Rc::clone(&sink)),
        })
        .and_then(|mut rows| rows.next().map(|_| ()));
    // The statement lets go of its sink here, not when it is next used.
    statement.clear_bindings();
    ran?;
    let mut postings = std::mem::take(&mut sink.borrow_mut().postings);
    postings.bytes.shrink_to_fit();
    Ok(postings)
}
