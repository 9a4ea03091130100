//! Synchronization of a two-way folder with the notes of a library.
//!
//! First the folder is imported, which merges what changed on both sides in the library. Then each
//! note that differs from its file is written, and its file imported again, which records that both
//! are the same. An interruption at any point leaves notes that differ from their files; the next
//! synchronization continues with them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use vademecum_actors::{Library, SourceHandle};
use vademecum_import::{FileEntry, Ledger, ReaderLimits, TwoWayFolder, digest};
use vademecum_model::SourceName;
use vademecum_vault::journal::{ConflictCopies, LocalChange};

use super::{
    note_file::{MissingFolders, NoteFile},
    write_back::{MissingFile, WriteOutcome, is_written, path_of, unwritten_fields, write_back},
};
use crate::{
    import::{
        ImportError, ImportOptions, ImportSummary, SecretHandling, StopSignal, import_entries,
        import_files,
    },
    progress::ProgressCallback,
};

/// Maximum number of rounds of writing and importing. A file that another program changes all the
/// time is written by a later synchronization.
const MAX_ROUNDS: usize = 5;
/// Interval between attempts to get the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);
/// Name of the lock file in the folder of a library.
const LOCK_FILE: &str = "two-way.lock";

/// Files that a synchronization looks at before it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// All files of the folder.
    All,
    /// The files of the notes that differ from them.
    Changed,
}

/// Result of a synchronization.
#[derive(Debug, Default)]
pub struct SyncReport {
    /// The import of the folder, if all files were looked at.
    pub imported: Option<ImportSummary>,
    /// Files that were written, created or moved to the trash.
    pub written: BTreeSet<PathBuf>,
    /// The files of the notes that differed from them, by note.
    pub(crate) files: BTreeMap<String, PathBuf>,
    /// Reasons why files were not written, by path. Writing them is tried again.
    pub problems: BTreeMap<PathBuf, String>,
    /// Reasons why files do not say all of their notes, by path. Writing them again would not help.
    pub refusals: BTreeMap<PathBuf, String>,
    /// Notes of which the file has other changes of the same lines, each with the new note that has the
    /// library's version.
    pub(crate) conflicts: BTreeMap<String, String>,
}

/// Error of a synchronization.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The folder could not be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The library could not be read or written.
    #[error(transparent)]
    Source(#[from] vademecum_source::SourceError),
    /// The ledger could not be read or written.
    #[error(transparent)]
    Ledger(#[from] vademecum_store::StoreError),
    /// The folder is missing or has lost all its files.
    #[error("the folder {} {reason}; nothing is written to it", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The problem.
        reason: &'static str,
    },
    /// The lock of the library could not be used.
    #[error("the folders of the library cannot be locked")]
    Lock(#[source] io::Error),
    /// Another synchronization runs.
    #[error("another synchronization is running; the file is written when it ends")]
    Busy,
    /// The library has no notes.
    #[error("notes are not available")]
    NoNotes,
}

/// The exclusive right to synchronize folders with a library. It is released when dropped.
#[derive(Debug)]
pub struct SyncLock {
    _file: File,
}

impl SyncLock {
    /// Waits for the lock of a library, at most for `timeout`.
    pub async fn acquire(library: &Library, timeout: Duration) -> Result<Self, SyncError> {
        let path = library.folder().join(LOCK_FILE);
        let open = || {
            fs::create_dir_all(library.folder())?;
            File::options().create(true).truncate(false).write(true).open(&path)
        };
        let file = open().map_err(SyncError::Lock)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(fs::TryLockError::Error(error)) => return Err(SyncError::Lock(error)),
                Err(fs::TryLockError::WouldBlock) if begun.elapsed() >= timeout => {
                    return Err(SyncError::Busy);
                }
                Err(fs::TryLockError::WouldBlock) => tokio::time::sleep(LOCK_INTERVAL).await,
            }
        }
    }
}

/// A folder and the library with its notes.
pub(super) struct FolderSync<'l> {
    library: &'l Library,
    notes: &'l SourceHandle,
    ledger: Ledger,
    folder: &'l TwoWayFolder,
    options: ImportOptions,
    progress: &'l ProgressCallback,
    report: SyncReport,
    /// Files that were missing before the whole folder was imported: they were not renamed.
    missing: BTreeSet<PathBuf>,
}

/// Synchronizes a folder with a library. The caller holds the lock.
pub async fn sync_folder(
    library: &Library,
    folder: &TwoWayFolder,
    scope: SyncScope,
    limits: ReaderLimits,
    progress: &ProgressCallback,
    _lock: &SyncLock,
) -> Result<SyncReport, SyncError> {
    let sync = FolderSync {
        library,
        notes: library.source(SourceName::Notes).ok_or(SyncError::NoNotes)?,
        ledger: library.ledger(),
        folder,
        options: ImportOptions {
            kind: None,
            paths: vec![folder.path.clone()],
            dry_run: false,
            follow_deletions: true,
            limits,
            conflict_copies: ConflictCopies::BesideFile,
            quota: None,
            secrets: SecretHandling::Redact,
            stop: StopSignal::default(),
        },
        progress,
        report: SyncReport::default(),
        missing: BTreeSet::new(),
    };
    sync.run(scope).await
}

impl FolderSync<'_> {
    async fn run(mut self, scope: SyncScope) -> Result<SyncReport, SyncError> {
        self.check_folder()?;
        match scope {
            SyncScope::All => {
                self.import_folder().await?;
            }
            SyncScope::Changed => {
                let changes = self.list_changes().await?;
                let root = &self.folder.path;
                let present = changes.iter().map(path_of).filter(|path| is_regular(root, path));
                self.import_paths(present.map(Path::to_owned).collect()).await?;
            }
        }
        for _ in 0..MAX_ROUNDS {
            if !self.write_changes().await? {
                break;
            }
        }
        Ok(self.report)
    }

    /// Returns an error for a folder that is missing, or that has lost all files: it is most likely
    /// on a file system that is not mounted.
    fn check_folder(&self) -> Result<(), SyncError> {
        let path = &self.folder.path;
        let problem = |reason| Err(SyncError::Folder { path: path.clone(), reason });
        let Ok(mut entries) = fs::read_dir(path) else { return problem("cannot be read") };
        let is_empty = entries.next().is_none();
        if is_empty && !self.ledger.entries_below(path)?.is_empty() {
            return problem("is empty, but was not at the last import");
        }
        Ok(())
    }

    async fn list_changes(&self) -> Result<Vec<LocalChange>, SyncError> {
        let prefix = format!("file:{}{}", self.folder.path.display(), std::path::MAIN_SEPARATOR);
        Ok(self.notes.list_local_changes(prefix).await?)
    }

    async fn import_folder(&mut self) -> Result<(), SyncError> {
        let summary = import_files(self.library, &self.options, self.progress).await?;
        self.note_conflicts(&summary);
        // The first import of a synchronization is the one that found what others have changed.
        self.report.imported.get_or_insert(summary);
        Ok(())
    }

    async fn import_paths(&mut self, paths: Vec<PathBuf>) -> Result<(), SyncError> {
        if paths.is_empty() {
            return Ok(());
        }
        let root = Some(self.folder.path.clone());
        let files = paths.into_iter().map(|path| FileEntry { path, root: root.clone() }).collect();
        let summary = import_entries(self.library, files, &self.options).await?;
        self.note_conflicts(&summary);
        Ok(())
    }

    fn note_conflicts(&mut self, summary: &ImportSummary) {
        let conflicts = summary.conflicts().map(|(item, copy)| (item.id.clone(), copy.id.clone()));
        self.report.conflicts.extend(conflicts);
    }

    /// Writes the notes that differ from their files. Returns `true` if another round may have
    /// something to do.
    async fn write_changes(&mut self) -> Result<bool, SyncError> {
        let changes = self.list_changes().await?;
        self.report.problems.clear();
        self.report.refusals.clear();
        if changes.is_empty() {
            return Ok(false);
        }
        let root = self.folder.path.clone();
        let missing = std::mem::take(&mut self.missing);
        let imported = self.imported_paths(&missing)?;
        let write = move || -> Vec<_> {
            let outcome = |change: &LocalChange| {
                let was_missing = missing.contains(path_of(change));
                // A person deleted the file of a note that had nothing new. A note of another machine
                // never had a file here.
                let was_here = imported.contains(path_of(change));
                let is_deleted = was_here && !change.is_planned && !path_of(change).exists();
                if was_missing && is_deleted && is_written(change) {
                    return Ok(WriteOutcome::Trashed);
                }
                let missing =
                    if was_missing { MissingFile::WriteAgain } else { MissingFile::Report };
                write_back(&root, change, missing)
            };
            changes.into_iter().map(|change| (outcome(&change), change)).collect()
        };
        let outcomes = tokio::task::spawn_blocking(write).await;
        let outcomes = outcomes.map_err(|error| SyncError::Lock(io::Error::other(error)))?;
        let mut again = Vec::new();
        for (outcome, change) in outcomes {
            let path = path_of(&change).to_owned();
            self.report.files.insert(change.item.clone(), path.clone());
            match outcome {
                Ok(WriteOutcome::Unchanged) => {
                    if let Some(fields) = unwritten_fields(&change) {
                        let reason = format!("{fields}: the file cannot hold the change");
                        self.report.refusals.insert(path, reason);
                    }
                }
                Ok(WriteOutcome::Written) => {
                    self.report.written.insert(path.clone());
                    again.push(path);
                }
                Ok(WriteOutcome::Changed) if self.is_as_imported(&path) => {
                    let reason = "the text of the note is not that of its file".to_owned();
                    self.report.refusals.insert(path, reason);
                }
                Ok(WriteOutcome::Changed) => {
                    let reason = "another program keeps changing the file";
                    self.report.problems.insert(path.clone(), reason.to_owned());
                    again.push(path);
                }
                Ok(WriteOutcome::Trashed) => self.forget_file(&change, path).await?,
                Ok(WriteOutcome::Missing) => drop(self.missing.insert(path)),
                Ok(WriteOutcome::Refused(reason)) => {
                    drop(self.report.refusals.insert(path, reason));
                }
                Err(error) => drop(self.report.problems.insert(path, error.to_string())),
            }
        }
        let is_changed = !self.missing.is_empty() || !again.is_empty();
        if !self.missing.is_empty() {
            self.import_folder().await?;
        }
        self.import_paths(again).await?;
        Ok(is_changed)
    }

    /// Returns those of the paths whose files this machine has imported.
    fn imported_paths(&self, paths: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, SyncError> {
        let mut imported = BTreeSet::new();
        for path in paths {
            let entries = self.ledger.entries_below(path)?;
            imported.extend(entries.into_iter().map(|entry| entry.path).filter(|it| it == path));
        }
        Ok(imported)
    }

    /// Returns `true` if the content of a file is that of its last import.
    fn is_as_imported(&self, path: &Path) -> bool {
        let entries = self.ledger.entries_below(path).unwrap_or_default();
        let content = || Some(digest("", [fs::read(path).ok()?.as_slice()]));
        entries.iter().any(|entry| entry.path == path && entry.digest == content())
    }

    /// Records that a note has no file any more.
    async fn forget_file(&mut self, change: &LocalChange, path: PathBuf) -> Result<(), SyncError> {
        self.notes.remove_changed_origin(change.origin.clone()).await?;
        let gone = self.ledger.entries_below(&path)?;
        self.ledger.record_entries(&[], &gone)?;
        self.report.written.insert(path);
        Ok(())
    }
}

/// Returns `true` for a regular file below a folder that is reached without a link.
fn is_regular(root: &Path, path: &Path) -> bool {
    let Ok(relative) = path.strip_prefix(root) else { return false };
    let located = NoteFile::locate(root, relative, MissingFolders::Keep);
    located.is_ok_and(|file| file.is_some_and(|file| file.read().is_ok_and(|it| it.is_some())))
}

/// Returns the path of a file relative to its folder, for messages.
pub(super) fn relative_path(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

/// Returns a callback that ignores the progress.
pub(super) fn no_progress() -> ProgressCallback {
    Arc::new(|_| {})
}
