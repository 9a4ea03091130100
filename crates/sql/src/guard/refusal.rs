//! Refusals, in words that help.

use crate::{ErrorCode, SqlError};

/// A refusal: what is wrong and what to do.
pub(super) fn refuse(message: impl Into<String>) -> SqlError {
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}

/// A refusal of something at this byte of the text.
pub(super) fn refuse_at(text: &str, at: usize, message: &str) -> SqlError {
    let (line, column) = place(text, at);
    refuse(format!("{message} (line {line}, column {column})"))
}

/// Line and column of a byte, both counted from one; columns in characters.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_line_and_column() {
        let message = refuse_at("a\nbü;", 5, "no semicolon").message;
        assert_eq!(message, "no semicolon (line 2, column 3)");
    }
}
