//! The program that the reader processes run.

use std::{
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, Instant},
};

use vademecum_sandbox::{ChildSettings, Restrictions, SandboxLayers, Worker, child_command};

/// Memory of a process that only reports its sandbox, in megabytes.
const PROBE_MEMORY_MB: u32 = 64;
/// Time in which it must have started.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

/// The program whose command `reader` calls [`run_reader`](super::run_reader).
static READER_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program whose command `reader` calls [`run_reader`](super::run_reader), once for this process. Without
/// one, as in tests and benches that call this library, files are parsed in this process, without
/// limits of memory.
pub fn set_reader_program(program: PathBuf) {
    READER_PROGRAM.set(program).ok();
}

/// Returns the layers of the sandbox that reader processes have on this system. Without a program for
/// them, there are none. Blocks until a process has started and reported them.
pub fn probe_sandbox() -> io::Result<SandboxLayers> {
    let Some(program) = reader_program() else { return Ok(SandboxLayers::default()) };
    let restrictions = Restrictions { memory_mb: PROBE_MEMORY_MB, ..Restrictions::default() };
    let settings = ChildSettings { restrictions, work: () };
    let deadline = Instant::now() + PROBE_TIMEOUT;
    let worker = Worker::start(child_command(program, "reader"), &settings, deadline);
    let worker =
        worker.map_err(|failure| io::Error::other(format!("the reader process: {failure:?}")))?;
    Ok(worker.layers())
}

/// Returns the program that the reader processes run, if it is set.
pub(super) fn reader_program() -> Option<&'static Path> {
    READER_PROGRAM.get().map(PathBuf::as_path)
}
