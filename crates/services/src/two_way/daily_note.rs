//! The daily note of a library: that of its two-way vault, by the settings of Obsidian or Logseq, else the note
//! whose title is the date (`docs/adr/0073-daily-note.md`).

mod format;
mod vault_settings;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
    time::Duration,
};

use chrono::{Local, NaiveDateTime};
use tokio::sync::OwnedMutexGuard;
use vademecum_actors::{Library, SourceHandle};
use vademecum_core::auth::UserId;
use vademecum_import::{InsertPlace, TwoWayFolder, edit_note_text, insert_text};
use vademecum_model::{
    Change, Deadline, Draft, DraftBody, Edit, FieldReplacement, ItemId, ItemName, NoteDraft,
    NoteRewrite, SourceName,
};

use self::vault_settings::{
    DailyFile, LOGSEQ_FILE, OBSIDIAN_FILE, fill_template, logseq_file, obsidian_file,
};
use super::{
    folders::FollowedFolders,
    note_file::{MissingFolders, NoteFile},
    sync::{SyncError, SyncLock, SyncScope, no_progress, sync_folder},
};

/// Maximum time to find the note.
const FIND_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to wait for another synchronization of the folder.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of settings and templates, in bytes.
const MAX_SETTINGS_BYTES: usize = 256 * 1_024;

/// Error of finding the daily note.
#[derive(Debug, thiserror::Error)]
pub enum DailyNoteError {
    /// The vault has settings that name no file, or the text cannot be inserted.
    #[error("at: {0}")]
    Invalid(String),
    /// A file of the vault could not be read.
    #[error("at: the daily note in {} cannot be found: {source}", path.display())]
    Vault {
        /// The vault.
        path: PathBuf,
        /// The problem.
        source: io::Error,
    },
    /// The folder could not be synchronized, or the library could not be read.
    #[error(transparent)]
    Sync(#[from] SyncError),
}

/// The daily note of a day: its file, or its title if it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DailyNote {
    /// Title: the name of the file, or the date.
    pub title: String,
    /// File in a two-way folder.
    path: Option<PathBuf>,
}

impl DailyNote {
    fn of_vault(path: PathBuf) -> Self {
        let title = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { title, path: Some(path) }
    }

    fn of_date(now: NaiveDateTime) -> Self {
        Self { title: now.format("%Y-%m-%d").to_string(), path: None }
    }

    /// Returns the note, if it is in the library.
    pub async fn find(&self, library: &Library) -> Result<Option<ItemId>, DailyNoteError> {
        let notes = library.source(SourceName::Notes).ok_or(SyncError::NoNotes)?;
        if let Some(path) = &self.path {
            return find_note(notes, path).await;
        }
        let name = ItemName::Title(self.title.clone());
        let found = notes.find_items(name, 1, Deadline::after(FIND_TIMEOUT)).await;
        Ok(found.map_err(SyncError::from)?.into_iter().next().map(|hit| hit.id))
    }
}

/// The file of the daily note in a vault.
struct VaultDay {
    folder: TwoWayFolder,
    /// Path below the vault.
    relative: PathBuf,
    exists: bool,
    /// Text with which a new note begins.
    template: String,
}

impl FollowedFolders {
    /// Waits until no other call changes the daily note of a user.
    pub async fn lock_daily_note(&self, user: &UserId) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.daily_notes.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(user.clone()).or_default())
        };
        lock.lock_owned().await
    }

    /// Returns the change that adds a text to the daily note of today, in the time zone of this computer. The
    /// note is created if it does not exist.
    pub async fn change_of_daily_note(
        &self,
        user: &UserId,
        library: &Library,
        place: InsertPlace,
        text: String,
    ) -> Result<Change, DailyNoteError> {
        let now = Local::now().naive_local();
        let Some(day) = self.find_vault_day(user, library, now).await? else {
            return change_of_titled_note(library, &DailyNote::of_date(now), place, text).await;
        };
        let path = day.folder.path.join(&day.relative);
        let daily = DailyNote::of_vault(path.clone());
        let mut known = daily.find(library).await?;
        if known.is_none() && day.exists {
            // Another program has just created it.
            let lock = SyncLock::acquire(library, LOCK_TIMEOUT).await?;
            let progress = no_progress();
            sync_folder(library, &day.folder, SyncScope::All, self.limits(), &progress, &lock)
                .await?;
            known = daily.find(library).await?;
        }
        match known {
            Some(id) => Ok(edit_of_note(id, Some(path), place, text)),
            None if day.exists => Err(DailyNoteError::Invalid(format!(
                "the daily note `{}` exists, but is not in the library; import its folder",
                day.relative.display()
            ))),
            None => new_file(&day, &path, &place, &text),
        }
    }

    /// Returns the daily note of today, in the time zone of this computer, which need not exist.
    pub async fn daily_note(
        &self,
        user: &UserId,
        library: &Library,
    ) -> Result<DailyNote, DailyNoteError> {
        let now = Local::now().naive_local();
        let day = self.find_vault_day(user, library, now).await?;
        Ok(day.map_or_else(
            || DailyNote::of_date(now),
            |day| DailyNote::of_vault(day.folder.path.join(&day.relative)),
        ))
    }

    async fn find_vault_day(
        &self,
        user: &UserId,
        library: &Library,
        now: NaiveDateTime,
    ) -> Result<Option<VaultDay>, DailyNoteError> {
        let folders = self.read_two_way_folders(user, library).await.map_err(SyncError::from)?;
        let read = library.spawn_blocking(move || find_day(folders, now)).await;
        read.ok_or(SyncError::Busy)?
    }
}

/// Returns the file of the daily note: in the first vault of Obsidian or Logseq, else in the folder that takes
/// new notes. Blocks.
fn find_day(
    folders: Vec<TwoWayFolder>,
    now: NaiveDateTime,
) -> Result<Option<VaultDay>, DailyNoteError> {
    let mut plain = None;
    for folder in folders {
        let failed = |source| DailyNoteError::Vault { path: folder.path.clone(), source };
        let invalid = DailyNoteError::Invalid;
        let file = if folder.path.join(".obsidian").is_dir() {
            let settings = read_text(&folder.path, Path::new(OBSIDIAN_FILE)).map_err(failed)?;
            obsidian_file(&settings.unwrap_or_default(), now).map_err(invalid)?
        } else if let Some(settings) =
            read_text(&folder.path, Path::new(LOGSEQ_FILE)).map_err(failed)?
        {
            logseq_file(&settings, now).map_err(invalid)?
        } else {
            if let Some(inside) = folder.new_notes.clone().filter(|_| plain.is_none()) {
                plain = Some((folder, inside));
            }
            continue;
        };
        return open_day(folder, file, now).map(Some);
    }
    let Some((folder, inside)) = plain else { return Ok(None) };
    let DailyFile { path, templates } = obsidian_file("", now).map_err(DailyNoteError::Invalid)?;
    open_day(folder, DailyFile { path: inside.join(path), templates }, now).map(Some)
}

fn open_day(
    folder: TwoWayFolder,
    file: DailyFile,
    now: NaiveDateTime,
) -> Result<VaultDay, DailyNoteError> {
    let failed = |source| DailyNoteError::Vault { path: folder.path.clone(), source };
    let relative = file.path;
    let located =
        NoteFile::locate(&folder.path, &relative, MissingFolders::Keep).map_err(failed)?;
    let exists = match located {
        Some(file) => file.read().map_err(failed)?.is_some(),
        None => false,
    };
    let mut template = String::new();
    for path in file.templates.iter().filter(|_| !exists) {
        if let Some(text) = read_text(&folder.path, path).map_err(failed)? {
            template = fill_template(&text, &relative, now);
            break;
        }
    }
    Ok(VaultDay { folder, relative, exists, template })
}

/// Reads a text below a folder; `None` if it does not exist. No link is followed.
fn read_text(root: &Path, path: &Path) -> io::Result<Option<String>> {
    let file = NoteFile::locate(root, path, MissingFolders::Keep)?;
    let Some(bytes) = file.map(|file| file.read()).transpose()?.flatten() else {
        return Ok(None);
    };
    if bytes.len() > MAX_SETTINGS_BYTES {
        let reason = format!("`{}` has more than {MAX_SETTINGS_BYTES} bytes", path.display());
        return Err(io::Error::other(reason));
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(Some(text.trim_start_matches('\u{feff}').to_owned()))
}

/// Returns the note of a file.
async fn find_note(notes: &SourceHandle, path: &Path) -> Result<Option<ItemId>, DailyNoteError> {
    let name = ItemName::Path(path.display().to_string());
    let found = notes.find_items(name, 10, Deadline::after(FIND_TIMEOUT)).await;
    let origin = format!("file:{}", path.display());
    for hit in found.map_err(SyncError::from)? {
        let origins = notes.item_origins(hit.id.to_string()).await.map_err(SyncError::from)?;
        if origins.contains(&origin) {
            return Ok(Some(hit.id));
        }
    }
    Ok(None)
}

/// Returns the change of the note whose title is the date, which has no file.
async fn change_of_titled_note(
    library: &Library,
    daily: &DailyNote,
    place: InsertPlace,
    text: String,
) -> Result<Change, DailyNoteError> {
    if let Some(id) = daily.find(library).await? {
        return Ok(edit_of_note(id, None, place, text));
    }
    let content = first_text("", None, &place, &text)?;
    let note = NoteDraft { title: daily.title.clone(), content, ..NoteDraft::default() };
    Ok(Change::Add(Box::new(Draft {
        origin: String::new(),
        digest: String::new(),
        id: None,
        body: DraftBody::Note(note),
    })))
}

fn edit_of_note(id: ItemId, path: Option<PathBuf>, place: InsertPlace, text: String) -> Change {
    let edit = match place {
        InsertPlace::End => Edit::Append(text),
        place => Edit::Rewrite(NoteRewrite::new(move |note| {
            let content = insert_text(path.as_deref(), &note.content, &place, &text)?;
            Ok(FieldReplacement { content: Some(content), ..FieldReplacement::default() })
        })),
    };
    Change::Edit { id, version: None, edit }
}

/// Returns the change that creates the note and plans its file.
fn new_file(
    day: &VaultDay,
    path: &Path,
    place: &InsertPlace,
    text: &str,
) -> Result<Change, DailyNoteError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let content = first_text(&day.template, Some(path), place, text)?;
    let folders = day.relative.parent().into_iter().flat_map(Path::components);
    let folders = folders.map(|part| part.as_os_str().to_string_lossy().into_owned());
    let note =
        NoteDraft { title: stem, content, folders: folders.collect(), ..NoteDraft::default() };
    // The library has the text of the file from the beginning.
    let content = edit_note_text(path, &note, &note);
    Ok(Change::Add(Box::new(Draft {
        origin: format!("file:{}", path.display()),
        digest: String::new(),
        id: None,
        body: DraftBody::Note(NoteDraft { content, ..note }),
    })))
}

/// Returns the text of a new note: its template with the text in its place. A heading that the template does not
/// have is added.
fn first_text(
    template: &str,
    path: Option<&Path>,
    place: &InsertPlace,
    text: &str,
) -> Result<String, DailyNoteError> {
    let inserted = insert_text(path, template, place, text);
    if let (Err(_), InsertPlace::Heading(level, heading)) = (&inserted, place) {
        let marks = "#".repeat(level.unwrap_or(2).min(6));
        let gap = if template.is_empty() || template.ends_with('\n') { "" } else { "\n" };
        let with_heading = format!("{template}{gap}{marks} {heading}\n");
        return insert_text(path, &with_heading, place, text).map_err(DailyNoteError::Invalid);
    }
    inserted.map_err(DailyNoteError::Invalid)
}
