//! Printing. Whoever reads may stop reading; that is no reason to fail.

use std::io::{self, Write};

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
