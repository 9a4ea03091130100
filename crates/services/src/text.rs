//! Text for people: counts, sizes, and text from elsewhere made safe for a terminal.

use vademecum_model::SourceName;

/// Formats a count with its noun: `1 file`, `2 files`.
pub fn format_count(number: usize, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Formats a count of items of a source: `1 note`, `2 notes`.
pub fn format_item_count(number: usize, source: SourceName) -> String {
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
pub fn sanitize(text: &str) -> String {
    text.replace(is_harmful, "\u{fffd}")
}

/// Like [`sanitize`], but keeps line breaks and tabs. A carriage return before a line break is
/// removed.
pub fn sanitize_lines(text: &str) -> String {
    let is_harmful = |letter: char| !matches!(letter, '\n' | '\t') && is_harmful(letter);
    text.replace("\r\n", "\n").replace(is_harmful, "\u{fffd}")
}

/// Returns `true` for a control character, which may be part of an escape sequence, and for a
/// character that changes the direction of text.
pub fn is_harmful(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Formats a size with a decimal unit: `512 B`, `1.50 kB`.
pub fn format_bytes(bytes: u64) -> String {
    let units =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = units.into_iter().find(|(size, _)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(size, unit)| {
            let hundredths = u128::from(bytes) * 100 / u128::from(size);
            format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100)
        },
    )
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
    fn size_has_two_decimal_places() {
        assert_eq!(
            [0, 999, 1_000, 1_500_000, 12_345_678_901].map(format_bytes),
            ["0 B", "999 B", "1.00 kB", "1.50 MB", "12.34 GB"]
        );
    }

    #[test]
    fn sanitize_replaces_control_and_bidirectional_characters() {
        assert_eq!(sanitize("a\u{202e}dm.exe\u{1b}[2J"), "a\u{fffd}dm.exe\u{fffd}[2J");
        assert_eq!(sanitize("größer/日本"), "größer/日本");
        let text = "a\r\n\tb\u{1b}]52;c;aGk=\u{7}\u{9d}\rc";
        assert_eq!(sanitize_lines(text), "a\n\tb\u{fffd}]52;c;aGk=\u{fffd}\u{fffd}\u{fffd}c");
    }
}
