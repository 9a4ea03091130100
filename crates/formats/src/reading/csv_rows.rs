//! Rows of a CSV file by the names of its columns.

use std::collections::HashMap;

use csv::{ReaderBuilder, StringRecord};

use crate::format::ParsedFormat;

/// A row.
#[derive(Debug)]
pub(super) struct CsvRow<'a> {
    columns: &'a HashMap<String, usize>,
    record: StringRecord,
}

impl CsvRow<'_> {
    /// Returns the cell of a column, whose name is in lower case; empty if there is none.
    pub(super) fn cell(&self, column: &str) -> &str {
        let at = self.columns.get(column).copied();
        at.and_then(|at| self.record.get(at)).unwrap_or_default().trim()
    }
}

/// Calls `read` for each row. One that is broken becomes a problem.
pub(super) fn for_each_row(
    text: &str,
    parsed: &mut ParsedFormat,
    mut read: impl FnMut(&mut ParsedFormat, &CsvRow<'_>),
) {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let columns = reader.headers().map(|headers| {
        let names = headers.iter().map(|name| name.trim().to_lowercase());
        names.zip(0..).collect::<HashMap<_, _>>()
    });
    let columns = match columns {
        Ok(columns) => columns,
        Err(error) => return parsed.add_problem("row 1", error.to_string()),
    };
    for (number, record) in (2..).zip(reader.records()) {
        match record {
            Ok(record) => read(parsed, &CsvRow { columns: &columns, record }),
            Err(error) => parsed.add_problem(format!("row {number}"), error.to_string()),
        }
    }
}
