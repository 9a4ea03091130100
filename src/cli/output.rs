//! Printing to the terminal. A closed output, such as a pipe to `head`, is not an error.
//!
//! All output passes through this file. Characters that control a terminal never reach it from
//! contents: text is sanitized, and JSON has escapes for them.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write},
};

use anyhow::Result;
use serde::Serialize;
use vademecum_services::text::{is_harmful, sanitize_lines};

/// Prints a line, or several, to standard output.
pub(super) fn print_line(line: &str) {
    print_exact(&sanitize_lines(line));
}

/// Prints a line to standard error.
pub(super) fn print_error(line: &str) {
    let written = writeln!(io::stderr(), "{}", sanitize_lines(line));
    if written.is_err() {
        tracing::debug!("standard error is closed");
    }
}

/// Prints a value as indented JSON to standard output.
pub(super) fn print_json(value: &impl Serialize) -> Result<()> {
    print_exact(&escape_json(&serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Prints a value as one line of JSON to standard output.
pub(super) fn print_json_line(value: &impl Serialize) -> Result<()> {
    print_exact(&escape_json(&serde_json::to_string(value)?));
    Ok(())
}

/// Prints lines of data for programs to standard output, each with its line break: unchanged, unless
/// it is a terminal. Returns false if the output is closed.
pub(super) fn print_batch(lines: &str) -> bool {
    let mut output = io::stdout().lock();
    let written = if output.is_terminal() {
        output.write_all(sanitize_lines(lines).as_bytes())
    } else {
        output.write_all(lines.as_bytes())
    };
    written.and_then(|()| output.flush()).is_ok()
}

/// Prints text unchanged to standard output, also if it is a terminal.
pub(super) fn print_exact(text: &str) {
    let written = writeln!(io::stdout(), "{text}");
    if written.is_err() {
        tracing::debug!("standard output is closed");
    }
}

/// Returns the width of the terminal to which standard output is connected, in columns.
pub(super) fn terminal_width() -> Option<usize> {
    let size = console::Term::stdout().size_checked()?;
    io::stdout().is_terminal().then_some(usize::from(size.1))
}

/// Escapes harmful characters of JSON, which occur only inside strings.
pub(super) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter != '\n' && is_harmful(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                write!(escaped, "\\u{unit:04x}").ok();
            }
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escaped_json_is_equal_and_harmless() {
        let value = json!({ "a": "x\u{1b}[2J\u{7f}\u{9b}\u{202e}\n\t\"ü\u{1f600}" });
        let text = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.contains(|it| it != '\n' && is_harmful(it)), "{text:?}");
        assert!(text.contains("\\u009b\\u202e") && text.contains("ü\u{1f600}"), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
