//! One process that reads a database, seen from its parent.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::ExitStatus,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
};
use vademecum_sandbox::{Restrictions, child_command, to_line};

use super::{
    child::TEMPORARY_SPACE_EXIT_CODE,
    failure::ReadFailure,
    message::{ReadRequest, ReaderReply, ReaderSettings},
    readers::SqliteReaderSettings,
};
use crate::{QueryCaps, Rows, driver::row_collector::RowCollector};

/// Subcommand of the program that calls [`run_sqlite_reader`](super::run_sqlite_reader).
const SUBCOMMAND: &str = "sqlite-reader";
/// Disk-backed folder for temporary files, if it exists; other folders may be in memory.
const PREFERRED_TEMP_FOLDER: &str = "/var/tmp";
/// Files that the C library reads to compute local times, and the source of random numbers.
const SYSTEM_FILES: [&str; 3] = ["/dev/urandom", "/etc/localtime", "/usr/share/zoneinfo"];
/// Maximum size of a line that is not a row, in bytes.
const MAX_REPLY_BYTES: usize = 16 * 1_024 * 1_024;
/// Number of bytes of the standard error of a dead process that are read.
const MAX_ERROR_BYTES: u64 = 64 * 1_024;
/// Positions of the file format versions in the header of a database, and the value that stands for
/// a write-ahead log.
const FORMAT_VERSIONS: std::ops::Range<usize> = 18..20;
const WAL_FORMAT: u8 = 2;

/// A process that reads one database. It is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct ReaderProcess {
    /// The database file.
    pub(super) path: PathBuf,
    /// Whether the process has already run a statement.
    pub(super) is_reused: bool,
    // Dropped, and so killed, before its folder is removed.
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    _folder: TempDir,
}

impl ReaderProcess {
    /// Starts a process that can read the database, its neighbours and nothing else.
    pub(super) async fn start(
        settings: &SqliteReaderSettings,
        path: PathBuf,
    ) -> Result<Self, ReadFailure> {
        let not_started = |error: io::Error| ReadFailure::NotSent(error.to_string());
        let own = settings.clone();
        // Blocking: starting a process takes about a millisecond, and a path may be remote.
        let started = tokio::task::spawn_blocking(move || Self::spawn(&own, path));
        let started = started.await.map_err(|error| not_started(io::Error::other(error)))?;
        let (mut process, line) = started.map_err(not_started)?;
        process.input.write_all(&line).await.map_err(not_started)?;
        match process.read_reply(MAX_REPLY_BYTES).await? {
            Line::Reply(ReaderReply::Ready) => Ok(process),
            Line::Reply(_) | Line::Row(..) => Err(unexpected_reply()),
        }
    }

    /// Returns the process and the first line to send to it.
    fn spawn(settings: &SqliteReaderSettings, path: PathBuf) -> io::Result<(Self, Vec<u8>)> {
        let folder = create_temp_folder()?;
        let temp_folder = folder.path().canonicalize()?;
        let restrictions = restrictions(settings, &path, &temp_folder);
        let megabyte = 1_024 * 1_024;
        let line = to_line(&ReaderSettings {
            restrictions,
            max_temp_bytes: u64::from(settings.limits.temp_mb) * megabyte,
            max_heap_bytes: u64::from(settings.limits.memory_mb) * megabyte,
        })?;
        let mut command = Command::from(child_command(&settings.program, SUBCOMMAND));
        command.env("SQLITE_TMPDIR", &temp_folder).kill_on_drop(true);
        if let Some(zone) = &settings.time_zone {
            command.env("TZ", zone);
        }
        let mut child = command.spawn()?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let output = BufReader::with_capacity(64 * 1_024, output);
        let process =
            Self { path, is_reused: false, child, input, output, errors, _folder: folder };
        Ok((process, line))
    }

    /// Runs a statement. The process must not be used again after a failure of which
    /// [`is_usable_after`] returns false.
    pub(super) async fn run(
        &mut self,
        request: &ReadRequest,
        caps: QueryCaps,
    ) -> Result<Rows, ReadFailure> {
        let not_sent = |error: io::Error| ReadFailure::NotSent(error.to_string());
        let line = to_line(request).map_err(not_sent)?;
        if self.input.write_all(&line).await.is_err() {
            return Err(self.explain_end().await);
        }
        // The process leaves out the rows before the offset, and keeps the other limits as well.
        let caps = QueryCaps { offset: 0, ..caps };
        let max_line = caps.max_bytes.max(MAX_REPLY_BYTES);
        let mut rows = match self.read_reply(max_line).await? {
            Line::Reply(ReaderReply::Columns(columns)) => RowCollector::new(columns, caps),
            Line::Reply(ReaderReply::Failed(failure)) => return Err(failure),
            Line::Reply(ReaderReply::Ready | ReaderReply::Done { .. }) | Line::Row(..) => {
                return Err(unexpected_reply());
            }
        };
        loop {
            match self.read_reply(max_line).await? {
                Line::Row(row, bytes) => {
                    if !rows.push_row(row, bytes) {
                        return Err(unexpected_reply());
                    }
                }
                Line::Reply(ReaderReply::Done { truncated }) => {
                    if truncated {
                        rows.mark_truncated();
                    }
                    return Ok(rows.into_rows());
                }
                Line::Reply(ReaderReply::Failed(failure)) => return Err(failure),
                Line::Reply(ReaderReply::Ready | ReaderReply::Columns(_)) => {
                    return Err(unexpected_reply());
                }
            }
        }
    }

    async fn read_reply(&mut self, max_bytes: usize) -> Result<Line, ReadFailure> {
        let mut line = Vec::new();
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let read = (&mut self.output).take(limit).read_until(b'\n', &mut line).await;
        if read.is_err() || line.is_empty() {
            return Err(self.explain_end().await);
        }
        if line.pop() != Some(b'\n') {
            return Err(unexpected_reply());
        }
        let parsed = match line.first() {
            Some(b'[') => serde_json::from_slice(&line).map(|row| Line::Row(row, line.len())),
            _ => serde_json::from_slice(&line).map(Line::Reply),
        };
        parsed.map_err(|error| ReadFailure::NotSent(error.to_string()))
    }

    /// Returns the reason why the process ended.
    async fn explain_end(&mut self) -> ReadFailure {
        let status = self.child.wait().await.ok();
        if status.is_some_and(exceeded_temporary_space) {
            return ReadFailure::OutOfTemporarySpace;
        }
        let mut errors = Vec::new();
        let read = (&mut self.errors).take(MAX_ERROR_BYTES).read_to_end(&mut errors).await;
        let errors = String::from_utf8_lossy(&errors);
        tracing::debug!(?status, %errors, complete = read.is_ok(), "a SQLite reader ended");
        // The message of the standard library when an allocation fails.
        if errors.contains("memory allocation of") {
            ReadFailure::OutOfMemory
        } else {
            ReadFailure::Crashed
        }
    }
}

/// A line from the process.
enum Line {
    /// A row and its size as JSON.
    Row(Vec<Value>, usize),
    /// Anything else.
    Reply(ReaderReply),
}

/// Returns true if the process is as good as new after the failure.
pub(super) fn is_usable_after(failure: &ReadFailure) -> bool {
    match failure {
        ReadFailure::ParameterCount { .. }
        | ReadFailure::ReadOnly(_)
        | ReadFailure::Busy(_)
        | ReadFailure::TimedOut
        | ReadFailure::ValueTooLarge
        | ReadFailure::Failed(_) => true,
        ReadFailure::NotOpened(_)
        | ReadFailure::OutOfMemory
        | ReadFailure::OutOfTemporarySpace
        | ReadFailure::DiskFull
        | ReadFailure::Crashed
        | ReadFailure::NotSent(_) => false,
    }
}

fn unexpected_reply() -> ReadFailure {
    ReadFailure::NotSent("the process sent an unexpected reply".to_owned())
}

/// Creates a folder for the temporary files of one process, on a disk if there is a choice.
fn create_temp_folder() -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("vademecum-sqlite-");
    folder.tempdir_in(PREFERRED_TEMP_FOLDER).or_else(|_| folder.tempdir())
}

/// Returns what the process keeps: it reads the folder of the database, which also holds the
/// journal, and writes temporary files. `SQLite` coordinates the readers of a write-ahead log in
/// files beside the database; only then may the process write there.
fn restrictions(settings: &SqliteReaderSettings, path: &Path, temp_folder: &Path) -> Restrictions {
    let mut readable: Vec<OsString> = SYSTEM_FILES.map(OsString::from).to_vec();
    let mut writable = Vec::new();
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = file.parent() {
        let list = if has_write_ahead_log(&file) { &mut writable } else { &mut readable };
        list.push(folder.as_os_str().to_owned());
    }
    let (memory_mb, max_file_mb) = (settings.limits.memory_mb, settings.limits.temp_mb);
    let temp_folder = Some(temp_folder.to_owned());
    Restrictions { memory_mb, max_file_mb, readable, writable, temp_folder }
}

fn has_write_ahead_log(path: &Path) -> bool {
    let mut header = [0; FORMAT_VERSIONS.end];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.get(FORMAT_VERSIONS).is_some_and(|it| it.contains(&WAL_FORMAT))
}

/// Returns true if the process ended because of its temporary files.
fn exceeded_temporary_space(status: ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;

        if status.signal() == Some(rustix::process::Signal::XFSZ.as_raw()) {
            return true;
        }
    }
    status.code() == Some(TEMPORARY_SPACE_EXIT_CODE)
}
