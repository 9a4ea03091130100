//! Values written as text.

use std::fmt::{Display, Write};

/// Appends a value to a text.
pub(crate) fn push_display(text: &mut String, piece: impl Display) {
    let written = write!(text, "{piece}");
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}

/// Formats milliseconds as `h:mm:ss`.
pub(super) fn format_clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}
