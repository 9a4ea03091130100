//! Collecting the postings of a match expression through a statement.

use std::{cell::RefCell, ops::RangeInclusive, rc::Rc};

use rusqlite::{Statement, ToSql, types::ToSqlOutput};

use crate::Postings;

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
    /// Returns the weight of the phrase at a position of the expression.
    pub fn weight(&self, phrase: usize) -> f64 {
        if phrase < self.exact { 1.0 } else { self.variant_weight }
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
    postings.shrink_to_fit();
    Ok(postings)
}
