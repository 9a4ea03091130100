//! The followed folders of all users: those of the settings and those that users named at an import.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use vademecum_actors::Library;
use vademecum_core::{
    auth::{UserId, UserIdError},
    config::FollowedFolder,
};
use vademecum_import::{Ledger, ReaderLimits, TwoWayFolder, edit_note_text};
use vademecum_model::{Draft, DraftBody, NoteDraft, SourceName, Uri, safe_file_name};
use vademecum_store::StoreError;

use super::{
    note_file::numbered,
    sync::{SyncError, SyncLock, SyncScope, no_progress, relative_path, sync_folder},
    write_back::path_of,
};

/// Time for which a tool waits for another synchronization.
const TOOL_LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Followed folders, and the limits of reading their files.
#[derive(Debug)]
pub struct FollowedFolders {
    configured: Arc<[(UserId, FollowedFolder)]>,
    limits: ReaderLimits,
    /// For each user, the lock of the daily note.
    pub(super) daily_notes: Mutex<HashMap<UserId, Arc<tokio::sync::Mutex<()>>>>,
}

/// The file of a note that was changed by a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteFileStatus {
    /// Path relative to its folder.
    pub path: String,
    /// Reason why the change is not in the file.
    pub problem: Option<String>,
    /// File beside it that has the change, because the same lines were changed in the file.
    pub conflict: Option<String>,
}

impl FollowedFolders {
    /// Takes the folders of the settings; `owner` is the user of those that name none.
    pub fn new(
        configured: &[FollowedFolder],
        owner: &UserId,
        limits: ReaderLimits,
    ) -> Result<Self, UserIdError> {
        let configured = configured.iter().map(|folder| {
            let user = match &folder.user {
                Some(user) => user.parse()?,
                None => owner.clone(),
            };
            Ok((user, folder.clone()))
        });
        let configured = configured.collect::<Result<_, _>>()?;
        Ok(Self { configured, limits, daily_notes: Mutex::default() })
    }

    /// Returns the users with folders in the settings.
    pub(super) fn configured_users(&self) -> impl Iterator<Item = &UserId> {
        self.configured.iter().map(|(user, _)| user)
    }

    /// Returns the limits of reading files.
    pub(super) fn limits(&self) -> ReaderLimits {
        self.limits
    }

    /// Returns the folders of a user that are imported only.
    pub(super) fn one_way_folders(&self, user: &UserId) -> Vec<PathBuf> {
        let of_user = self.configured.iter().filter(|(owner, it)| owner == user && !it.two_way);
        of_user.map(|(_, folder)| folder.path.clone()).collect()
    }

    /// Returns the two-way folders of a user. Those of the settings come first; links in their paths
    /// are resolved.
    pub fn two_way_folders(
        &self,
        user: &UserId,
        ledger: &Ledger,
    ) -> Result<Vec<TwoWayFolder>, StoreError> {
        two_way_folders(&self.configured, user, ledger)
    }

    /// Returns the two-way folders of a user. Reads the ledger on a blocking thread, because it may
    /// wait for an archive.
    pub(super) async fn read_two_way_folders(
        &self,
        user: &UserId,
        library: &Library,
    ) -> Result<Vec<TwoWayFolder>, StoreError> {
        let (configured, user) = (Arc::clone(&self.configured), user.clone());
        let ledger = library.ledger();
        let read = library.spawn_blocking(move || two_way_folders(&configured, &user, &ledger));
        // The queue of the library is full.
        read.await.unwrap_or(Err(StoreError::DeadlineExceeded))
    }

    /// Returns the draft of a note that a client creates, with the file that it gets if one of the
    /// folders takes new notes.
    pub async fn place_new_note(
        &self,
        user: &UserId,
        library: &Library,
        note: NoteDraft,
    ) -> Result<Draft, StoreError> {
        let folders = self.read_two_way_folders(user, library).await?;
        let chosen = folders.iter().find_map(|folder| Some((folder, folder.new_notes.as_ref()?)));
        let Some((folder, inside)) = chosen else {
            return Ok(Draft {
                origin: String::new(),
                digest: String::new(),
                id: None,
                body: DraftBody::Note(note),
            });
        };
        let name = safe_file_name(&note.title);
        let first = folder.path.join(inside).join(format!("{name}.md"));
        let mut path = first.clone();
        let mut number = 2;
        while path.symlink_metadata().is_ok() {
            path = numbered(&first, number);
            number += 1;
        }
        // The library has the text of the file from the beginning.
        let content = edit_note_text(&path, &NoteDraft::default(), &note);
        let names = if name == note.title { Vec::new() } else { vec![name] };
        let folders = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        Ok(Draft {
            origin: format!("file:{}", path.display()),
            digest: String::new(),
            id: None,
            body: DraftBody::Note(NoteDraft { content, names, folders, ..note }),
        })
    }

    /// Writes a changed item to its file. Returns `None` if it has none in a two-way folder.
    pub async fn write_item(
        &self,
        user: &UserId,
        library: &Library,
        item: &Uri,
    ) -> Result<Option<NoteFileStatus>, SyncError> {
        if item.source != SourceName::Notes {
            return Ok(None);
        }
        let notes = library.source(SourceName::Notes).ok_or(SyncError::NoNotes)?;
        for folder in self.read_two_way_folders(user, library).await? {
            let prefix = format!("file:{}{}", folder.path.display(), std::path::MAIN_SEPARATOR);
            let changes = notes.list_local_changes(prefix).await?;
            let Some(change) = changes.iter().find(|change| change.item == item.id) else {
                continue;
            };
            let path = path_of(change).to_owned();
            return Ok(Some(self.write_file(library, &folder, item, &path).await));
        }
        Ok(None)
    }

    async fn write_file(
        &self,
        library: &Library,
        folder: &TwoWayFolder,
        item: &Uri,
        path: &Path,
    ) -> NoteFileStatus {
        let failed = |error: SyncError| NoteFileStatus {
            path: relative_path(&folder.path, path),
            problem: Some(vademecum_actors::error_chain(&error)),
            conflict: None,
        };
        let lock = match SyncLock::acquire(library, TOOL_LOCK_TIMEOUT).await {
            Ok(lock) => lock,
            Err(error) => return failed(error),
        };
        let limits = self.limits;
        let (scope, progress) = (SyncScope::Changed, no_progress());
        match sync_folder(library, folder, scope, limits, &progress, &lock).await {
            Ok(report) => {
                let path = report.files.get(&item.id).map_or(path, PathBuf::as_path);
                let copy = report.conflicts.get(&item.id);
                let copy = copy.and_then(|copy| report.files.get(copy));
                NoteFileStatus {
                    path: relative_path(&folder.path, path),
                    problem: report.problems.get(path).or(report.refusals.get(path)).cloned(),
                    conflict: copy.map(|copy| relative_path(&folder.path, copy)),
                }
            }
            Err(error) => failed(error),
        }
    }

    /// Writes all changed items of a library to their files, as after an undo. Returns the files that
    /// could not be written, with the reason.
    pub async fn write_all(
        &self,
        user: &UserId,
        library: &Library,
    ) -> Result<Vec<NoteFileStatus>, SyncError> {
        let mut problems = Vec::new();
        for folder in self.read_two_way_folders(user, library).await? {
            let lock = SyncLock::acquire(library, TOOL_LOCK_TIMEOUT * 15).await?;
            let (scope, progress) = (SyncScope::Changed, no_progress());
            let synced =
                sync_folder(library, &folder, scope, self.limits, &progress, &lock).await?;
            let unwritten = synced.problems.into_iter().chain(synced.refusals);
            problems.extend(unwritten.map(|(path, reason)| NoteFileStatus {
                path: path.display().to_string(),
                problem: Some(reason),
                conflict: None,
            }));
        }
        Ok(problems)
    }
}

fn two_way_folders(
    configured: &[(UserId, FollowedFolder)],
    user: &UserId,
    ledger: &Ledger,
) -> Result<Vec<TwoWayFolder>, StoreError> {
    let of_user = configured.iter().filter(|(owner, it)| owner == user && it.two_way);
    let mut folders: Vec<TwoWayFolder> = of_user
        .map(|(_, folder)| TwoWayFolder {
            path: folder.path.canonicalize().unwrap_or_else(|_| folder.path.clone()),
            new_notes: folder.new_notes.clone(),
        })
        .collect();
    for folder in ledger.two_way_folders()? {
        if !folders.iter().any(|known| known.path == folder.path) {
            folders.push(folder);
        }
    }
    Ok(folders)
}
