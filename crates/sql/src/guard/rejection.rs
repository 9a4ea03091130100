//! Errors for rejected statements.

use crate::{ErrorCode, SqlError};

/// Creates a rejection. The message says what is wrong and how to fix it.
pub(super) fn reject(message: impl Into<String>) -> SqlError {
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}

/// Creates a rejection with the line and column of byte `at` of `text`.
pub(super) fn reject_at(text: &str, at: usize, message: &str) -> SqlError {
    let (line, column) = line_and_column(text, at);
    reject(format!("{message} (line {line}, column {column})"))
}

/// Returns line and column of a byte offset, both starting at 1; the column counts characters.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejection_has_line_and_column() {
        let message = reject_at("a\nbü;", 5, "no semicolon").message;
        assert_eq!(message, "no semicolon (line 2, column 3)");
    }
}
