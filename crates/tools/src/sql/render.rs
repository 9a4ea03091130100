//! Text rendering shared by the database tools: tab-separated lines, and read-only errors.

use serde_json::Value;
use vademecum_actors::CallError;
use vademecum_sql::{ErrorCode, SqlError};

/// Adds to the error of a blocked statement that transactions are read-only, unless the message
/// says so already.
pub(super) fn explain_read_only(error: CallError) -> CallError {
    match error {
        CallError::Sql(error)
            if error.code == ErrorCode::XsqlRoBlocked && !error.message.contains("read-only") =>
        {
            let message = format!("{}; statements run in a read-only transaction", error.message);
            CallError::Sql(SqlError { message, ..error })
        }
        other => other,
    }
}

/// Joins cells with tabs into one line, with special characters escaped.
pub(super) fn tsv_line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(escape_cell).collect();
    cells.join("\t")
}

/// Formats a value as a cell; NULL is empty.
pub(super) fn tsv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Escapes backslashes, tabs and line breaks.
fn escape_cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' => escaped.push_str("\\\\"),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_fits_one_cell() {
        for (value, shown) in [
            (json!(null), ""),
            (json!("a\tb\nc\rd"), "a\\tb\\nc\\rd"),
            (json!("C:\\temp"), "C:\\\\temp"),
            (json!(9_223_372_036_854_775_807_i64), "9223372036854775807"),
            (json!(3.25), "3.25"),
            (json!(true), "true"),
            (json!(["a", "b"]), "[\"a\",\"b\"]"),
            (json!({ "key": "value" }), "{\"key\":\"value\"}"),
            (json!("2024-06-15T10:30:00Z"), "2024-06-15T10:30:00Z"),
        ] {
            assert_eq!(tsv_line([tsv_cell(&value).as_str()]), shown, "{value}");
        }
        assert_eq!(tsv_line(["a", "", "b"]), "a\t\tb");
    }

    #[test]
    fn read_only_error_names_transaction_once() {
        let error =
            |message: &str| CallError::Sql(SqlError::new(ErrorCode::XsqlRoBlocked, message));
        let explained = explain_read_only(error("`DELETE` is not a read")).to_string();
        assert_eq!(explained, "`DELETE` is not a read; statements run in a read-only transaction");
        let message = "cannot execute DELETE in a read-only transaction";
        assert_eq!(explain_read_only(error(message)).to_string(), message);
    }
}
