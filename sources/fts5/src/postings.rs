//! The postings of a phrase: which rows it stands in, and how often.

use std::{cell::RefCell, ops::RangeInclusive, rc::Rc};

use rusqlite::{Statement, ToSql, types::ToSqlOutput};

/// Words of a segment, into which long rows are divided.
pub const SEGMENT: u32 = 128;

/// Which rows a phrase stands in, in ascending order, and how often, every
/// occurrence counted with the weight of its column.
///
/// Of a row that is longer than a segment it is also known in which segments
/// the phrase stands, so that its passages can be told apart.
///
/// Kept small, because those of common words are many: two bytes for a row
/// where rows are close together.
#[derive(Clone, Debug, Default)]
pub struct Postings {
    /// For each row the distance from the one before; twice a number in
    /// `frequencies`, plus one if segments follow: how many bytes they take,
    /// and the distance of each from the one before.
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

    /// The rows, ascending.
    pub fn rows(&self) -> Cursor<'_> {
        Cursor { bytes: &self.bytes, row: 0 }
    }

    /// The same, but with `others` in the place of `rows`, which are sorted.
    #[must_use]
    pub fn with(&self, rows: &[i64], others: &Self) -> Self {
        let mut changed = Self::default();
        let mut new = others.rows().peekable();
        for posting in self.rows() {
            while let Some(before) = new.next_if(|new| new.row <= posting.row) {
                changed.add(&before, others);
            }
            if rows.binary_search(&posting.row).is_err() {
                changed.add(&posting, self);
            }
        }
        new.for_each(|posting| changed.add(&posting, others));
        changed.bytes.shrink_to_fit();
        changed
    }

    /// Adds all rows of `others`, which come after all others.
    pub fn append(&mut self, others: &Self) {
        others.rows().for_each(|posting| self.add(&posting, others));
    }

    fn add(&mut self, posting: &Posting<'_>, of: &Self) {
        if let Some(frequency) = of.frequencies.get(posting.number) {
            let segments: Vec<u32> = posting.segments().collect();
            self.push(posting.row, *frequency, &segments);
        }
    }

    /// Adds a row that comes after all others. Segments ascend; if the first is
    /// the only one, none need be named.
    pub fn push(&mut self, row: i64, frequency: f64, segments: &[u32]) {
        let known = self.frequencies.iter().position(|it| *it == frequency);
        let number = known.unwrap_or_else(|| {
            self.frequencies.push(frequency);
            self.frequencies.len() - 1
        });
        write_varint(&mut self.bytes, row.wrapping_sub(self.last).cast_unsigned());
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
        self.last = row;
        self.count += 1;
    }
}

/// A row that a phrase stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting<'a> {
    /// The row.
    pub row: i64,
    /// The place of its frequency in [`Postings::frequencies`].
    pub number: usize,
    segments: &'a [u8],
}

impl Posting<'_> {
    /// The segments of the row that the phrase begins in, ascending. Each is
    /// [`SEGMENT`] words long.
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

/// Goes through postings.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    row: i64,
}

impl<'a> Iterator for Cursor<'a> {
    type Item = Posting<'a>;

    #[inline]
    fn next(&mut self) -> Option<Posting<'a>> {
        // Nearly always both fit into a byte, and there are no segments.
        if let [gap @ 0..0x80, number @ 0..0x80, rest @ ..] = self.bytes
            && number & 1 == 0
        {
            self.bytes = rest;
            self.row += i64::from(*gap);
            return Some(Posting {
                row: self.row,
                number: usize::from(number >> 1),
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
        Some(Posting { row: self.row, number, segments })
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
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) weights: Vec<f64>,
    pub(crate) postings: Postings,
    /// The places in the row that is being read, where there are several phrases.
    pub(crate) places: Vec<(i32, i32)>,
    /// The segments of the row that is being read.
    pub(crate) segments: Vec<u32>,
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
    let sink = Sink { weights: weights.to_vec(), ..Sink::default() };
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
