//! Lenient reading of cells in foreign tables, whose columns may hold values of any type.

use rusqlite::{Row, types::ValueRef};
use vademecum_model::Timestamp;

use crate::read_limits::too_big;

/// Maximum length of a JSON text, in bytes; parsed, it needs many times as much memory.
const MAX_JSON_BYTES: usize = 8 * 1024 * 1024;

/// Returns a value of any type as text; `None` for NULL.
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

/// Returns the text of a cell; `None` for NULL or blank text.
pub(crate) fn non_blank_text(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    Ok(text(row, column)?.filter(|text| !text.trim().is_empty()))
}

/// Parses a timestamp in any known format; `None` if it cannot be parsed.
pub(crate) fn datetime(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    Ok(text(row, column)?.and_then(|text| Timestamp::parse(&text).ok()))
}

/// Returns an integer; `None` for a value of another type.
pub(crate) fn integer(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number),
        _ => None,
    })
}

/// Returns the non-blank texts of a JSON list; empty if the cell holds no JSON list.
pub(crate) fn text_list(row: &Row<'_>, column: &str) -> rusqlite::Result<Vec<String>> {
    let listed: Vec<serde_json::Value> = json(row, column)?.unwrap_or_default();
    let texts = listed.into_iter().filter_map(|value| match value {
        serde_json::Value::String(text) => Some(text),
        _ => None,
    });
    Ok(texts.filter(|text| !text.trim().is_empty()).collect())
}

/// Parses a cell as JSON; `None` if it is not JSON or does not match the type. Fails if it is longer
/// than [`MAX_JSON_BYTES`].
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let text = text(row, column)?;
    if text.as_ref().is_some_and(|text| text.len() > MAX_JSON_BYTES) {
        return Err(too_big(&format!("its {column} are larger than {MAX_JSON_BYTES} bytes")));
    }
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}
