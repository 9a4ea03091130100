//! Printing to the terminal. A closed output, such as a pipe to `head`, is not an error.

use std::io::{self, Write};

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
