//! Completion of partially typed text.

use std::ops::ControlFlow;

use rusqlite::{Row, ToSql};
use vademecum_fts5::{WordKind, for_each_word};
use vademecum_model::{Field, FtsTable, SourceName, Suggestions, Uri};
use vademecum_search::{Phrase, QueryWord};
use vademecum_store::{Parameters, Reader, StoreError};

/// Maximum number of typed words that are used.
const MAX_TYPED_WORDS: usize = 32;
/// Upper bound that sorts after every continuation of the typed text.
const RANGE_END: char = char::MAX;

/// Type of the identifiers of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdType {
    /// Row numbers: the statement has the bounds `:first` and `:last` and extends the prefix by one
    /// digit at a time.
    Numbers,
    /// Texts: the statement has the bounds `:typed` and `:beyond`.
    Texts,
}

impl IdType {
    /// Reads the column `id` as the URI of an item of `source`.
    pub fn read_uri(self, source: SourceName, row: &Row<'_>) -> rusqlite::Result<Uri> {
        let id = match self {
            Self::Numbers => row.get::<_, i64>("id")?.to_string(),
            Self::Texts => row.get("id")?,
        };
        Ok(Uri::item(source, id))
    }
}

/// Returns the identifiers of items that start with `typed`, or whose titles have words starting
/// with all typed words. Empty input returns all items.
///
/// Besides its bounds, the statement has the parameters `:typed`, `:words` and `:most`. It returns
/// `value` and, in every row, `total`.
pub fn suggest_items(
    reader: &Reader<'_>,
    table: &FtsTable,
    ids: IdType,
    sql: &str,
    typed: &str,
    most: usize,
) -> Result<Suggestions, StoreError> {
    suggest_items_with(reader, table, ids, (sql, &[]), typed, most)
}

/// Does the same as [`suggest_items`] with additional parameters for the statement.
pub fn suggest_items_with(
    reader: &Reader<'_>,
    table: &FtsTable,
    ids: IdType,
    (sql, own): (&str, &Parameters<'_>),
    typed: &str,
    most: usize,
) -> Result<Suggestions, StoreError> {
    let (first, last) = match typed.parse::<i64>() {
        Ok(number @ 1..) => (number, number),
        _ if typed.is_empty() => (i64::MIN, i64::MAX),
        _ => (1, 0),
    };
    let beyond = format!("{typed}{RANGE_END}");
    let words = title_prefix_expression(table, typed);
    let bounds: [(&str, &dyn ToSql); 2] = match ids {
        IdType::Numbers => [(":first", &first), (":last", &last)],
        IdType::Texts => [(":typed", &typed), (":beyond", &beyond)],
    };
    let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":words", &words)];
    parameters.extend(bounds);
    parameters.extend_from_slice(own);
    if ids == IdType::Numbers {
        parameters.push((":typed", &typed));
    }
    query_suggestions(reader, sql, &parameters, most)
}

/// Returns the words that start with `typed`. The statement has the bounds `:typed` and `:beyond`,
/// and the parameter `:most`.
pub fn suggest_words(
    reader: &Reader<'_>,
    sql: &str,
    typed: &str,
    most: usize,
) -> Result<Suggestions, StoreError> {
    let beyond = format!("{typed}{RANGE_END}");
    query_suggestions(reader, sql, &[(":typed", &typed), (":beyond", &beyond)], most)
}

fn query_suggestions(
    reader: &Reader<'_>,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    most: usize,
) -> Result<Suggestions, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut parameters = parameters.to_vec();
    parameters.push((":most", &most));
    let mut total: i64 = 0;
    let values = reader.query_all(sql, &parameters, |row| {
        total = row.get("total")?;
        row.get("value")
    })?;
    Ok(Suggestions { values, total: usize::try_from(total).unwrap_or(0) })
}

/// Returns an FTS5 expression for titles with words starting with the typed words. Without words it
/// is an empty phrase, which matches nothing.
fn title_prefix_expression(table: &FtsTable, typed: &str) -> String {
    let mut phrases = Vec::new();
    for_each_word(typed, |word| {
        let phrase = Phrase {
            field: Some(Field::Title),
            prefix: word.kind == WordKind::Plain,
            ..Phrase::from(QueryWord::Exact(word.folded.to_owned()))
        };
        // The parts of a compound name follow it and are used instead.
        if !word.kind.has_parts() {
            phrases.extend(phrase.restrict_to_columns(phrase.expression(), table.columns, &[]));
        }
        if phrases.len() < MAX_TYPED_WORDS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    if phrases.is_empty() { "\"\"".to_owned() } else { phrases.join(" AND ") }
}
