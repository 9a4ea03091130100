//! What the tools say in words: errors, and values in lines.

use serde_json::Value;

use crate::actors::CallError;
use vademecum_sql::{ErrorCode, SqlError};

/// Says of a refused statement in what it would have run.
pub(super) fn read_only(error: CallError) -> CallError {
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

/// Texts in a line, parted by tabs.
pub(super) fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(escaped).collect();
    cells.join("\t")
}

/// A value as a cell of such a line; NULL is empty.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text without the signs that part lines and cells.
fn escaped(text: &str) -> String {
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
    fn every_value_is_one_cell() {
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
            assert_eq!(line([cell(&value).as_str()]), shown, "{value}");
        }
        assert_eq!(line(["a", "", "b"]), "a\t\tb");
    }

    #[test]
    fn a_refusal_names_the_transaction_once() {
        let error =
            |message: &str| CallError::Sql(SqlError::new(ErrorCode::XsqlRoBlocked, message));
        let said = read_only(error("`DELETE` is not a read")).to_string();
        assert_eq!(said, "`DELETE` is not a read; statements run in a read-only transaction");
        let told = "cannot execute DELETE in a read-only transaction";
        assert_eq!(read_only(error(told)).to_string(), told);
    }
}
