//! What is meant by something that is still being typed.

use std::ops::ControlFlow;

use rusqlite::ToSql;
use vademecum_fts5::{Kind, each_word};

use super::phrase::Phrase;
use crate::{
    model::{Field, Suggestions},
    store::{Parameters, Reader, StoreError, Table},
};

/// Words of a title that are looked at; nobody types more.
const MOST_WORDS: usize = 32;
/// Sorts behind everything that may follow what was typed.
const BEYOND: char = char::MAX;

/// What the identifiers of a source are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Row numbers: the statement has the bounds `:first` and `:last`, and goes
    /// on from there with one more digit at a time.
    Numbers,
    /// Texts: the statement has the bounds `:typed` and `:beyond`.
    Texts,
}

/// The identifiers of items that begin with `typed`, or whose titles have words
/// that begin as all words that were typed; all items for nothing.
///
/// Apart from its bounds, the statement has `:typed`, `:words` and `:most`, and
/// gives `value` and, in every row, `total`.
pub fn suggest(
    reader: &Reader<'_>,
    table: &Table,
    ids: Ids,
    sql: &str,
    typed: &str,
    most: usize,
) -> Result<Suggestions, StoreError> {
    suggest_among(reader, table, ids, (sql, &[]), typed, most)
}

/// The same, of a statement with parameters of its own.
pub fn suggest_among(
    reader: &Reader<'_>,
    table: &Table,
    ids: Ids,
    (sql, own): (&str, &Parameters<'_>),
    typed: &str,
    most: usize,
) -> Result<Suggestions, StoreError> {
    let (first, last) = match typed.parse::<i64>() {
        Ok(number @ 1..) => (number, number),
        _ if typed.is_empty() => (i64::MIN, i64::MAX),
        _ => (1, 0),
    };
    let beyond = format!("{typed}{BEYOND}");
    let words = beginnings(table, typed);
    let bounds: [(&str, &dyn ToSql); 2] = match ids {
        Ids::Numbers => [(":first", &first), (":last", &last)],
        Ids::Texts => [(":typed", &typed), (":beyond", &beyond)],
    };
    let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":words", &words)];
    parameters.extend(bounds);
    parameters.extend_from_slice(own);
    if ids == Ids::Numbers {
        parameters.push((":typed", &typed));
    }
    values(reader, sql, &parameters, most)
}

/// The words that begin with `typed`. The statement has the bounds `:typed` and
/// `:beyond`, and `:most`.
pub fn words(
    reader: &Reader<'_>,
    sql: &str,
    typed: &str,
    most: usize,
) -> Result<Suggestions, StoreError> {
    let beyond = format!("{typed}{BEYOND}");
    values(reader, sql, &[(":typed", &typed), (":beyond", &beyond)], most)
}

fn values(
    reader: &Reader<'_>,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    most: usize,
) -> Result<Suggestions, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut parameters = parameters.to_vec();
    parameters.push((":most", &most));
    let mut total: i64 = 0;
    let values = reader.all(sql, &parameters, |row| {
        total = row.get("total")?;
        row.get("value")
    })?;
    Ok(Suggestions { values, total: usize::try_from(total).unwrap_or(0) })
}

/// An expression for FTS5: titles with words that begin so. Without words it is
/// an empty phrase, which stands nowhere.
fn beginnings(table: &Table, typed: &str) -> String {
    let mut phrases = Vec::new();
    each_word(typed, |word| {
        let phrase = Phrase {
            field: Some(Field::Title),
            prefix: word.kind == Kind::Plain,
            ..Phrase::of(word.folded)
        };
        // The parts of a name come after it.
        if word.kind != Kind::Whole {
            phrases.extend(phrase.expression_in(table.columns, &[]));
        }
        if phrases.len() < MOST_WORDS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if phrases.is_empty() { "\"\"".to_owned() } else { phrases.join(" AND ") }
}
