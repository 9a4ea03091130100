//! Reading cells of tables that promise little: any cell may hold anything.

use rusqlite::{Row, types::ValueRef};
use vademecum_kit::model::Timestamp;

/// The text of a cell, whatever it holds; none if it holds nothing.
pub(crate) fn text(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}

/// The text of a cell, unless it is blank.
pub(crate) fn some_text(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    Ok(text(row, column)?.filter(|text| !text.trim().is_empty()))
}

/// A moment, in any of the forms that are met; none if it is no moment.
pub(crate) fn moment(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    Ok(text(row, column)?.and_then(|text| Timestamp::parse(&text).ok()))
}

/// A whole number.
pub(crate) fn number(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number),
        _ => None,
    })
}

/// The texts of a JSON list; none if it is no such list.
pub(crate) fn list(row: &Row<'_>, column: &str) -> rusqlite::Result<Vec<String>> {
    let listed: Vec<serde_json::Value> = json(row, column)?.unwrap_or_default();
    let texts = listed.into_iter().filter_map(|value| match value {
        serde_json::Value::String(text) => Some(text),
        _ => None,
    });
    Ok(texts.filter(|text| !text.trim().is_empty()).collect())
}

/// What the JSON in a cell says; none if it is no JSON, or of another kind.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    Ok(text(row, column)?.and_then(|text| serde_json::from_str(&text).ok()))
}
