//! Messages between parent and child: one line of JSON each.

use std::io::{self, BufRead};

use serde::{Serialize, de::DeserializeOwned};

/// Reads a message; `None` at the end of the input.
pub fn read_line<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    match input.read_until(b'\n', &mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_slice(&line)?)),
    }
}

/// Returns a message as a line.
pub fn to_line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
