//! The child process: parses one file after the other.

use std::{
    io::{self, BufReader},
    time::Duration,
};

use vademecum_sandbox::{enter_sandbox, serve_requests, write_line};

use super::message::{OpenTask, ReaderReply, ReceivedTask};
use crate::{ImportAttempt, TimeLimit, documents::has_abandoned_thread, registry::read_open_file};

/// Stack size of the thread that parses, in bytes.
const STACK_BYTES: usize = 16 * 1_024 * 1_024;
/// Size of the parsed files after which the child ends, so that fragmented memory is returned, in
/// bytes.
const MAX_TOTAL_BYTES: u64 = 128 * 1_024 * 1_024;

/// Runs the child process of a [`ReaderPool`](super::ReaderPool) until standard input ends. Before
/// it parses a file, it gives up network and files.
pub fn run_reader() -> io::Result<()> {
    #[cfg(unix)]
    let (input, files) = vademecum_sandbox::FileInput::stdin();
    #[cfg(not(unix))]
    let (input, files) = (io::stdin(), ());
    let mut input = BufReader::new(input);
    let Some(_) = enter_sandbox::<()>(&mut input)? else { return Ok(()) };
    let mut total = 0_u64;
    serve_requests(&mut input, STACK_BYTES, move |task: ReceivedTask, output| {
        let seconds = task.seconds();
        #[cfg(unix)]
        vademecum_sandbox::limit_cpu_time(seconds)?;
        let attempt = match task.open(&files) {
            Ok(OpenTask { source, file, follow, opened }) => {
                let limit = TimeLimit::cpu(Duration::from_secs(seconds.into()));
                read_open_file(source, (file, opened), limit, &follow)
            }
            Err(failed) => {
                let (file, error) = *failed;
                ImportAttempt::failed(file, Err(error))
            }
        };
        total = total.saturating_add(attempt.read_bytes);
        let is_last = total > MAX_TOTAL_BYTES || has_abandoned_thread();
        write_line(output, &ReaderReply::from_attempt(attempt, is_last))?;
        Ok(!is_last)
    })
}
