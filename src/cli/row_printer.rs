//! Prints rows as they arrive, so that a result of any size takes little memory.

use std::{io, thread};

use anyhow::{Context as _, Result};
use tokio::sync::{mpsc, oneshot};
use vademecum_sql::{Rows, driver::RowSender};

use super::{
    output::print_batch,
    table_format::{format_csv, format_json_lines, format_tsv},
};

/// Number of batches that wait for standard output.
const MAX_WAITING_BATCHES: usize = 2;

/// Format in which each row is printed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// An object for each row.
    JsonLines,
}

/// Prints batches of rows, the header before the first one.
pub(super) struct RowPrinter {
    format: LineFormat,
    /// Number of rows that were printed.
    pub(super) rows: usize,
    has_header: bool,
    /// Whether standard output is still open.
    pub(super) is_open: bool,
}

impl RowPrinter {
    /// Creates a printer of a result of which nothing is printed.
    pub(super) fn new(format: LineFormat) -> Self {
        Self { format, rows: 0, has_header: false, is_open: true }
    }

    /// Prints the rows of a batch.
    pub(super) fn print(&mut self, batch: &Rows) -> Result<()> {
        let names: Vec<&str> = batch.columns.iter().map(|column| column.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let header = if self.has_header { None } else { Some(names.as_slice()) };
        let text = match self.format {
            LineFormat::Csv => format_csv(header, &batch.rows)?,
            LineFormat::Tsv => format_tsv(header, &batch.rows),
            LineFormat::JsonLines => format_json_lines(&names, &batch.rows)?,
        };
        self.has_header = true;
        self.rows += batch.rows.len();
        self.is_open = text.is_empty() || print_batch(&text);
        Ok(())
    }

    /// Prints on a thread of its own, which a slow reader of standard output may block. It ends when
    /// the sender is dropped or the output is closed.
    pub(super) fn start(self) -> io::Result<(RowSender, oneshot::Receiver<Result<Self>>)> {
        let (sender, mut batches) = mpsc::channel::<Rows>(MAX_WAITING_BATCHES);
        let (done, printed) = oneshot::channel();
        thread::Builder::new().name("print".to_owned()).spawn(move || {
            let mut printer = self;
            let mut print_all = || {
                while let Some(batch) = batches.blocking_recv() {
                    printer.print(&batch)?;
                    if !printer.is_open {
                        break;
                    }
                }
                Ok(())
            };
            let result = print_all();
            // The receiver is gone if the command was interrupted.
            done.send(result.map(|()| printer)).ok();
        })?;
        Ok((sender, printed))
    }

    /// Waits until everything is printed.
    pub(super) async fn finish(printed: oneshot::Receiver<Result<Self>>) -> Result<Self> {
        printed.await.context("the rows could not be printed")?
    }
}
