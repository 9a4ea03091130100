//! Messages between parent and child: one line of JSON each.

use std::io::{self, BufRead, Write};

use serde::{Serialize, de::DeserializeOwned};

/// Reads a message; `None` at the end of the input.
pub(crate) fn read_line<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    match input.read_until(b'\n', &mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_slice(&line)?)),
    }
}

/// Writes a message without building it in memory first: it may have hundreds of megabytes.
pub fn write_line(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")
}
