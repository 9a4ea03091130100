//! One process that reads a database, seen from its parent.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Handle;
use vademecum_sandbox::{
    ChildSettings, Restrictions, WorkLimit, Worker, WorkerFailure, child_command,
};

use super::{
    failure::ReadFailure,
    message::{ReadRequest, ReaderReply, ReaderSettings},
    settings::SqliteReaderSettings,
};
use crate::{
    QueryCaps, Rows,
    driver::row_collector::{RowCollector, RowSender},
};

/// Subcommand of the program that calls [`run_sqlite_reader`](super::run_sqlite_reader).
const SUBCOMMAND: &str = "sqlite-reader";
/// Disk-backed folder for temporary files, if it exists; other folders may be in memory.
const PREFERRED_TEMP_FOLDER: &str = "/var/tmp";
/// Files that the C library reads to compute local times, and the source of random numbers.
const SYSTEM_FILES: [&str; 3] = ["/dev/urandom", "/etc/localtime", "/usr/share/zoneinfo"];
/// Maximum size of a line that is not a row, in bytes.
const MAX_REPLY_BYTES: usize = 16 * 1_024 * 1_024;
/// Positions of the file format versions in the header of a database, and the value that stands for
/// a write-ahead log.
const FORMAT_VERSIONS: std::ops::Range<usize> = 18..20;
const WAL_FORMAT: u8 = 2;
/// Ends of the names of a write-ahead log and its index.
const LOG_SUFFIXES: [&str; 2] = ["-wal", "-shm"];
/// End of the name of the journal that an interrupted program left.
const JOURNAL_SUFFIX: &str = "-journal";

/// A process that reads one database. It is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct ReaderProcess {
    /// The database file.
    pub(super) path: PathBuf,
    /// Whether the process has already run a statement.
    pub(super) is_reused: bool,
    // Dropped before the process is killed: see `KillGuard`.
    folder: TempDir,
    worker: Worker,
}

impl ReaderProcess {
    /// Starts a process that can read the database, its journal and nothing else.
    pub(super) fn start(
        settings: &SqliteReaderSettings,
        path: PathBuf,
        limit: WorkLimit,
    ) -> Result<Self, ReadFailure> {
        let folder = create_temp_folder().map_err(WorkerFailure::Unusable)?;
        let temp_folder = folder.path().canonicalize().map_err(WorkerFailure::Unusable)?;
        let megabyte = 1_024 * 1_024;
        let work = ReaderSettings {
            max_temp_bytes: u64::from(settings.limits.temp_mb) * megabyte,
            max_heap_bytes: u64::from(settings.limits.memory_mb) * megabyte,
        };
        let restrictions = restrictions(settings, &path, &temp_folder);
        let mut command = child_command(&settings.program, SUBCOMMAND);
        command.env("SQLITE_TMPDIR", &temp_folder);
        if let Some(zone) = &settings.time_zone {
            command.env("TZ", zone);
        }
        let worker = Worker::start(command, &ChildSettings { restrictions, work }, limit)?;
        Ok(Self { path, is_reused: false, folder, worker })
    }

    /// Runs a statement. The process is killed at the limit, because one step of a statement may take
    /// long.
    pub(super) fn run(
        &mut self,
        request: &ReadRequest,
        caps: QueryCaps,
        limit: WorkLimit,
        sender: Option<&RowSender>,
    ) -> Result<Rows, ReadFailure> {
        // A process that cannot receive anything has ended.
        self.worker.send(request, limit).map_err(|_| ReadFailure::Crashed)?;
        // The process leaves out the rows before the offset, and keeps the other limits as well.
        let caps = QueryCaps { offset: 0, ..caps };
        let max_line = caps.max_bytes.max(MAX_REPLY_BYTES);
        let mut rows = None;
        loop {
            match (self.read_reply(max_line)?, rows.take()) {
                (Line::Reply(ReaderReply::Columns(columns)), None) => {
                    rows = Some(RowCollector::new(columns, caps, sender));
                }
                (Line::Row(row, bytes), Some(mut begun)) => {
                    if !begun.push_row(row, bytes) {
                        return Err(unexpected_reply());
                    }
                    // This is a thread of the pool for blocking work.
                    let received = Handle::current().block_on(begun.send_batch());
                    received.map_err(|error| ReadFailure::NotSent(error.message))?;
                    rows = Some(begun);
                }
                (Line::Reply(ReaderReply::Done { truncated }), Some(mut all)) => {
                    if truncated {
                        all.mark_truncated();
                    }
                    return Ok(all.into_rows());
                }
                (Line::Reply(ReaderReply::Failed(failure)), _) => return Err(failure),
                (Line::Reply(_) | Line::Row(..), _) => return Err(unexpected_reply()),
            }
        }
    }

    /// Returns a guard that kills the process when it is dropped.
    pub(super) fn kill_guard(&self) -> KillGuard {
        KillGuard { folder: self.folder.path().to_owned(), worker: Some(self.worker.kill_guard()) }
    }

    fn read_reply(&mut self, max_bytes: usize) -> Result<Line, ReadFailure> {
        let line = self.worker.receive(max_bytes)?;
        let parsed = match line.first() {
            Some(b'[') => serde_json::from_slice(&line).map(|row| Line::Row(row, line.len())),
            _ => serde_json::from_slice(&line).map(Line::Reply),
        };
        parsed.map_err(|error| ReadFailure::NotSent(error.to_string()))
    }

    /// Returns true if the process is as good as new after a statement with this result. Otherwise
    /// it must not be used again.
    pub(super) fn is_usable_after(&mut self, done: &Result<Rows, ReadFailure>) -> bool {
        self.worker.rest() && done.as_ref().err().is_none_or(leaves_process_usable)
    }
}

/// Removes the folder of a process and then kills it when it is dropped, unless it is disarmed
/// before. A process that is killed first could not remove its folder any more, and this program
/// may end at any time: a process that loses its parent removes the folder itself.
pub(super) struct KillGuard {
    folder: PathBuf,
    worker: Option<vademecum_sandbox::KillGuard>,
}

impl KillGuard {
    /// Lets the process live.
    pub(super) fn disarm(mut self) {
        if let Some(worker) = self.worker.take() {
            worker.disarm();
        }
    }
}

impl Drop for KillGuard {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            // Fails only if the folder is removed already.
            fs::remove_dir_all(&self.folder).ok();
            drop(worker);
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
fn leaves_process_usable(failure: &ReadFailure) -> bool {
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

/// Returns what the process keeps: it reads the database and its journal, and writes temporary files.
/// `SQLite` coordinates the readers of a write-ahead log in files beside the database; only these may
/// the process write, and they must exist, because it may create none in the folder. A file that another
/// program creates or replaces later is for a new process.
fn restrictions(settings: &SqliteReaderSettings, path: &Path, temp_folder: &Path) -> Restrictions {
    let mut readable: Vec<OsString> = SYSTEM_FILES.map(OsString::from).to_vec();
    let mut writable = Vec::new();
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    readable.push(file.as_os_str().to_owned());
    if has_write_ahead_log(&file) {
        for suffix in LOG_SUFFIXES {
            let beside = file_beside(&file, suffix);
            create_like(&file, &beside);
            writable.extend(is_plain_file(&beside).then_some(beside.into_os_string()));
        }
    }
    let journal = file_beside(&file, JOURNAL_SUFFIX);
    readable.extend(is_plain_file(&journal).then_some(journal.into_os_string()));
    let (memory_mb, max_file_mb) = (settings.limits.memory_mb, settings.limits.temp_mb);
    let temp_folder = Some(temp_folder.to_owned());
    Restrictions { memory_mb, max_file_mb, readable, writable, temp_folder }
}

/// Returns the path of a file that `SQLite` keeps beside a database.
fn file_beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns `true` for a file that is no link: a link would lead the process elsewhere.
fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Creates an empty file with the owner and the mode of another one, as `SQLite` does, unless it exists.
/// In a folder that cannot be written, there is none.
fn create_like(database: &Path, path: &Path) {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};

        let Ok(metadata) = fs::metadata(database) else { return };
        options.mode(metadata.mode() & 0o666);
        if let Ok(created) = options.open(path) {
            // Permitted to `root` only; for others, the owner is the same or a group writes.
            fchown(&created, Some(metadata.uid()), Some(metadata.gid())).ok();
        }
    }
    #[cfg(not(unix))]
    if database.is_file() {
        options.open(path).ok();
    }
}

fn has_write_ahead_log(path: &Path) -> bool {
    let mut header = [0; FORMAT_VERSIONS.end];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.get(FORMAT_VERSIONS).is_some_and(|it| it.contains(&WAL_FORMAT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the restrictions for a database, without the files of the system.
    fn restrict(path: &Path) -> (Vec<OsString>, Vec<OsString>) {
        let settings = SqliteReaderSettings::new("vademecum".into(), None, 64, 64);
        let mut found = restrictions(&settings, path, Path::new("/temporary"));
        found.readable.drain(..SYSTEM_FILES.len());
        (found.readable, found.writable)
    }

    #[test]
    fn process_keeps_database_and_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (path, neighbour) = (folder.join("shop.db"), folder.join("id_rsa"));
        for name in [&path, &neighbour] {
            fs::write(name, "text").unwrap();
        }
        let names = |suffixes: &[&str]| -> Vec<OsString> {
            suffixes.iter().map(|suffix| file_beside(&path, suffix).into_os_string()).collect()
        };
        assert_eq!(restrict(&path), (names(&[""]), vec![]));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::write(file_beside(&path, JOURNAL_SUFFIX), "").unwrap();
        assert_eq!(restrict(&path), (names(&["", JOURNAL_SUFFIX]), vec![]));
    }

    #[cfg(unix)]
    #[test]
    fn log_is_created_and_never_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let path = folder.join("shop.db");
        fs::write(&path, [WAL_FORMAT; FORMAT_VERSIONS.end]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let log = file_beside(&path, "-wal");
        let shared = file_beside(&path, "-shm");
        let written = vec![log.clone().into_os_string(), shared.into_os_string()];
        assert_eq!(restrict(&path).1, written);
        assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&log).unwrap();
        fs::write(folder.join("id_rsa"), "secret").unwrap();
        symlink("id_rsa", &log).unwrap();
        assert_eq!(restrict(&path).1, written[1..]);
    }
}
