//! The child process: parses one file after the other.

use std::{
    io::{self, BufRead, BufReader, BufWriter, Write},
    panic, thread,
    time::Duration,
};

use serde::Serialize;
use vademecum_sandbox::read_line;

use super::message::{ReaderReply, ReaderSettings, ReaderTask};
use crate::{documents::has_abandoned_thread, registry::read_file};

/// Stack size of the thread that parses, in bytes.
const STACK_BYTES: usize = 16 * 1_024 * 1_024;
/// Size of the parsed files after which the child ends, so that fragmented memory is returned, in
/// bytes.
const MAX_TOTAL_BYTES: u64 = 128 * 1_024 * 1_024;

/// Runs the child process of a [`ReaderPool`](super::ReaderPool) until standard input ends. Before
/// it reads a path, it gives up network and write access.
pub fn run_reader() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    let Some(settings) = read_line::<ReaderSettings>(&mut input)? else { return Ok(()) };
    // The message of a panic would be written to the pipe of standard error, which is not read.
    panic::set_hook(Box::new(|_| {}));
    settings.restrictions.apply()?;
    let parse = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || parse_files(input, &settings))?;
    parse.join().unwrap_or_else(|_| Err(io::Error::other("the reader thread panicked")))
}

fn parse_files(mut input: impl BufRead, settings: &ReaderSettings) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout());
    let mut total = 0_u64;
    while let Some(task) = read_line::<ReaderTask>(&mut input)? {
        #[cfg(unix)]
        vademecum_sandbox::limit_cpu_time(settings.seconds)?;
        let (source, file) = task.into_parts();
        let attempt = read_file(source, file, Duration::from_secs(settings.seconds.into()));
        total = total.saturating_add(attempt.stamp.size);
        let is_last = total > MAX_TOTAL_BYTES || has_abandoned_thread();
        write_line(&mut output, &ReaderReply::from_attempt(attempt, is_last))?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Writes a message without building it in memory first: it may have hundreds of megabytes.
fn write_line(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")?;
    output.flush()
}
