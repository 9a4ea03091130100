//! Printing to the terminal. A closed output, such as a pipe to `head`, is not an error.

use std::io::{self, Write};

use vademecum_kit::model::SourceName;

/// Prints a line to standard output.
pub(super) fn print_line(line: &str) {
    let written = writeln!(io::stdout(), "{line}");
    if written.is_err() {
        tracing::debug!("standard output is closed");
    }
}

/// Prints a line to standard error.
pub(super) fn print_error(line: &str) {
    let written = writeln!(io::stderr(), "{line}");
    if written.is_err() {
        tracing::debug!("standard error is closed");
    }
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub(super) fn format_count(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Formats a count of items of a source: `1 note`, `2 notes`.
pub(super) fn format_item_count(number: usize, source: SourceName) -> String {
    let thing = match source {
        SourceName::Notes => "note",
        SourceName::Media => "media document",
        SourceName::Chats => "chat",
        SourceName::Characters => "character",
        SourceName::Prompts => "prompt",
        SourceName::Collections => "document",
    };
    format_count(number, thing)
}

/// Replaces control characters and bidirectional formatting characters by U+FFFD, so that text from
/// elsewhere cannot control the terminal.
pub(super) fn sanitize(text: &str) -> String {
    let is_harmful = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(is_harmful, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_uses_singular_for_one() {
        assert_eq!(
            [0, 1, 2].map(|number| format_count(number, "file")),
            ["0 files", "1 file", "2 files"]
        );
        assert_eq!(format_item_count(1, SourceName::Notes), "1 note");
        assert_eq!(format_item_count(2, SourceName::Media), "2 media documents");
    }

    #[test]
    fn sanitize_replaces_control_and_bidirectional_characters() {
        assert_eq!(sanitize("a\u{202e}dm.exe\u{1b}[2J"), "a\u{fffd}dm.exe\u{fffd}[2J");
        assert_eq!(sanitize("größer/日本"), "größer/日本");
    }
}
