//! Printing. Whoever reads may stop reading; that is no reason to fail.

use std::io::{self, Write};

use vademecum_kit::model::SourceName;

/// Prints a line to standard output.
pub(super) fn say(line: &str) {
    let written = writeln!(io::stdout(), "{line}");
    if written.is_err() {
        tracing::debug!("nobody reads standard output");
    }
}

/// Prints a line to standard error.
pub(super) fn complain(line: &str) {
    let written = writeln!(io::stderr(), "{line}");
    if written.is_err() {
        tracing::debug!("nobody reads standard error");
    }
}

/// So many things: `1 file`, `2 files`.
pub(super) fn count(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// So many items of a source: `1 note`, `2 notes`.
pub(super) fn items(number: usize, source: SourceName) -> String {
    let thing = match source {
        SourceName::Notes => "note",
        SourceName::Media => "media document",
        SourceName::Chats => "chat",
        SourceName::Characters => "character",
        SourceName::Prompts => "prompt",
    };
    count(number, thing)
}

/// A name or a reason without what could turn a terminal upside down.
pub(super) fn plain(text: &str) -> String {
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
    fn one_thing_is_not_several() {
        assert_eq!([0, 1, 2].map(|number| count(number, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(items(1, SourceName::Notes), "1 note");
        assert_eq!(items(2, SourceName::Media), "2 media documents");
    }

    #[test]
    fn what_is_printed_cannot_lie_about_its_direction_or_clear_the_screen() {
        assert_eq!(plain("a\u{202e}dm.exe\u{1b}[2J"), "a\u{fffd}dm.exe\u{fffd}[2J");
        assert_eq!(plain("größer/日本"), "größer/日本");
    }
}
