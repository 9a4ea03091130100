//! The child process: parses one file after the other.

use std::{
    io::{self, BufReader},
    time::Duration,
};

use vademecum_sandbox::{enter_sandbox, serve_requests, write_line};

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
    let Some(settings) = enter_sandbox::<ReaderSettings>(&mut input)? else { return Ok(()) };
    let seconds = settings.work.seconds;
    let mut total = 0_u64;
    serve_requests(&mut input, STACK_BYTES, move |task: ReaderTask, output| {
        #[cfg(unix)]
        vademecum_sandbox::limit_cpu_time(seconds)?;
        let (source, file) = task.into_parts();
        let attempt = read_file(source, file, Duration::from_secs(seconds.into()));
        total = total.saturating_add(attempt.stamp.size);
        let is_last = total > MAX_TOTAL_BYTES || has_abandoned_thread();
        write_line(output, &ReaderReply::from_attempt(attempt, is_last))?;
        Ok(!is_last)
    })
}
