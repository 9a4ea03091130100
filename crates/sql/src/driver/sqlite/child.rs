//! The child process: runs one read after the other.

use std::{
    fs,
    io::{self, BufReader, BufWriter, Stdout},
    process::exit,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use rusqlite::Connection;
use serde_json::Value;
use vademecum_sandbox::{enter_sandbox, serve_requests, write_line};

use super::{
    deadline::CancelOnDrop,
    failure::TEMPORARY_SPACE_EXIT_CODE,
    message::{ReadRequest, ReaderReply, ReaderSettings},
    statement::RowSink,
};
use crate::Column;

/// Stack size of the thread that runs statements, in bytes.
const STACK_BYTES: usize = 8 * 1_024 * 1_024;
/// Time between two measurements of the temporary files.
const MEASURE_INTERVAL: Duration = Duration::from_millis(5);
/// Number of file descriptors that are measured; the process cannot open more.
const MAX_DESCRIPTORS: u32 = 64;

/// Runs the child process of an `SQLite` profile until standard input ends. Before it reads a
/// database, it gives up the network, and access to all files but the database and its own
/// temporary files.
pub fn run_sqlite_reader() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    let Some(settings) = enter_sandbox::<ReaderSettings>(&mut input)? else { return Ok(()) };
    limit_heap(settings.work.max_heap_bytes).map_err(io::Error::other)?;
    let (measure, instructions) = mpsc::channel();
    let max_temp_bytes = settings.work.max_temp_bytes;
    thread::Builder::new().spawn(move || watch_temporary_files(&instructions, max_temp_bytes))?;
    serve_requests(&mut input, STACK_BYTES, move |request: ReadRequest, output| {
        measure.send(Measure::Begin).ok();
        let caller = CancelOnDrop::default();
        let deadline = caller.cpu_deadline(request.timeout);
        // Ends a step that is not interrupted. The limit has whole seconds.
        #[cfg(unix)]
        vademecum_sandbox::limit_cpu_time(
            u32::try_from(request.timeout.as_secs() + 1).unwrap_or(u32::MAX),
        )?;
        let reply = match request.run(deadline, output) {
            Ok(truncated) => ReaderReply::Done { truncated },
            Err(failure) => ReaderReply::Failed(failure),
        };
        measure.send(Measure::End).ok();
        write_line(output, &reply)?;
        Ok(true)
    })?;
    // The parent has ended: a running statement ends with this process. Its temporary files have no
    // names.
    if let Some(folder) = settings.restrictions.temp_folder {
        fs::remove_dir(folder).ok();
    }
    exit(0)
}

/// Limits the memory of all connections of this process.
fn limit_heap(bytes: u64) -> Result<(), rusqlite::Error> {
    let connection = Connection::open_in_memory()?;
    let sql = format!("PRAGMA hard_heap_limit = {bytes}");
    connection.query_row(&sql, [], |_| Ok(()))
}

/// Instruction to the thread that measures the temporary files.
#[derive(Clone, Copy)]
enum Measure {
    /// A statement begins.
    Begin,
    /// The statement has ended.
    End,
}

/// Ends the process when the temporary files of a statement become too large. `SQLite` can be
/// interrupted between two steps only, and one step can write any number of bytes.
fn watch_temporary_files(instructions: &Receiver<Measure>, max_bytes: u64) {
    while let Ok(instruction) = instructions.recv() {
        let mut instruction = Ok(instruction);
        while matches!(instruction, Ok(Measure::Begin) | Err(RecvTimeoutError::Timeout)) {
            instruction = instructions.recv_timeout(MEASURE_INTERVAL);
            if temporary_bytes() > max_bytes {
                exit(TEMPORARY_SPACE_EXIT_CODE);
            }
        }
    }
}

/// Returns the size of all open files that are in no folder, in bytes: `SQLite` removes a temporary
/// file from its folder as soon as it has created it. Returns 0 on systems that do not tell; there
/// each file is limited alone.
#[cfg(target_os = "linux")]
fn temporary_bytes() -> u64 {
    use std::os::unix::fs::MetadataExt as _;

    let files = (3..MAX_DESCRIPTORS).filter_map(|descriptor| {
        let metadata = fs::metadata(format!("/proc/self/fd/{descriptor}")).ok()?;
        (metadata.is_file() && metadata.nlink() == 0).then_some(metadata.len())
    });
    files.sum()
}

/// Returns 0: this system does not list the files of a process.
#[cfg(not(target_os = "linux"))]
fn temporary_bytes() -> u64 {
    0
}

/// Standard output, as lines of JSON.
impl RowSink for BufWriter<Stdout> {
    fn columns(&mut self, columns: Vec<Column>) -> io::Result<()> {
        write_line(self, &ReaderReply::Columns(columns))
    }

    fn row(&mut self, row: Vec<Value>) -> io::Result<()> {
        write_line(self, &row)
    }
}
