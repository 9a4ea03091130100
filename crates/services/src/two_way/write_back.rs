//! Writing of one changed note to its file.

use std::{
    io,
    path::{Path, PathBuf},
};

use vademecum_import::{TextEncoding, decode_text, edit_note_text, placeholder_of};
use vademecum_model::{DraftBody, NoteDraft};
use vademecum_vault::journal::LocalChange;

use super::note_file::{MissingFolders, NoteFile, numbered};

/// Folder below a two-way folder to which the files of deleted notes are moved.
const TRASH: &str = ".trash";
/// Types of files that are written. The text of others is not the text of their notes.
const WRITTEN_TYPES: [&str; 4] = ["md", "markdown", "org", "txt"];
/// Maximum number of files of the same name in the trash.
const MAX_SAME_NAMES: usize = 1_000;

/// Result of writing the file of a changed note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    /// The file has the text of the note already, and its title and tags as far as its format can
    /// hold them.
    Unchanged,
    /// The file was written and has to be imported.
    Written,
    /// The note was deleted and its file moved to the trash, or it had none.
    Trashed,
    /// Another program changed the file since its import.
    Changed,
    /// The file of a note that was imported is missing.
    Missing,
    /// The file is not written, for this reason.
    Refused(String),
}

/// Treatment of a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingFile {
    /// It may have been renamed, so that nothing is done.
    Report,
    /// It is written again.
    WriteAgain,
}

/// Returns the path of the file of a changed note.
pub(super) fn path_of(change: &LocalChange) -> &Path {
    Path::new(change.origin.strip_prefix("file:").unwrap_or(&change.origin))
}

/// Returns `true` for the name of a file whose text is that of its note.
pub(super) fn is_written_type(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    WRITTEN_TYPES.contains(&extension.to_lowercase().as_str())
}

/// Returns `true` if the note has nothing that its file did not have at its last import, although
/// the library differs: the format of the file cannot hold the rest.
pub(super) fn is_written(change: &LocalChange) -> bool {
    let note_and_base = (&change.present, &change.base);
    if let (Some(DraftBody::Note(note)), Some(DraftBody::Note(base))) = note_and_base {
        return edit_note_text(path_of(change), base, note) == base.content;
    }
    false
}

/// Returns what the file of a written note does not say.
pub(super) fn unwritten_fields(change: &LocalChange) -> Option<&'static str> {
    let note_and_base = (&change.present, &change.base);
    let (Some(DraftBody::Note(note)), Some(DraftBody::Note(base))) = note_and_base else {
        return None;
    };
    let sorted = |tags: &[String]| {
        let mut tags = tags.to_vec();
        tags.sort_unstable();
        tags
    };
    match (note.title != base.title, sorted(&note.tags) != sorted(&base.tags)) {
        (true, true) => Some("the title and the tags are only in the library"),
        (true, false) => Some("the title is only in the library"),
        (false, true) => Some("the tags are only in the library"),
        (false, false) => None,
    }
}

/// Writes a changed note of the folder `root` to its file. Blocks.
pub(super) fn write_back(
    root: &Path,
    change: &LocalChange,
    missing: MissingFile,
) -> io::Result<WriteOutcome> {
    let path = path_of(change);
    let relative = path.strip_prefix(root).map_err(io::Error::other)?;
    if change.origin.contains(char::REPLACEMENT_CHARACTER) {
        let reason = "its path is not UTF-8; rename the file".to_owned();
        return Ok(WriteOutcome::Refused(reason));
    }
    if !is_written_type(path) {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let reason = format!("files of the type `{extension}` are read only");
        return Ok(WriteOutcome::Refused(reason));
    }
    let file = NoteFile::locate(root, relative, MissingFolders::Keep)?;
    let found = file.as_ref().map(NoteFile::read).transpose()?.flatten();
    let note = match &change.present {
        Some(DraftBody::Note(note)) => Some(note),
        Some(_) => return Ok(WriteOutcome::Refused("it is not a note".to_owned())),
        None => None,
    };
    let base = match &change.base {
        Some(DraftBody::Note(base)) => Some(base),
        Some(_) | None => None,
    };
    match (note, file.zip(found)) {
        (None, None) => Ok(WriteOutcome::Trashed),
        // A person protects a file from changes by its permissions.
        (_, Some((file, _))) if file.is_read_only()? && !is_written(change) => {
            Ok(WriteOutcome::Refused("the file is read-only".to_owned()))
        }
        (None, Some((file, bytes))) => move_to_trash(root, relative, &file, (base, &bytes)),
        (Some(_), None) if !change.is_planned && missing == MissingFile::Report => {
            Ok(WriteOutcome::Missing)
        }
        (Some(_), None) if placeholder_of(path).exists() => {
            let reason = "iCloud has not downloaded the file; open it there".to_owned();
            Ok(WriteOutcome::Refused(reason))
        }
        (Some(note), None) => create_file(root, relative, note, base),
        (Some(note), Some((file, bytes))) => {
            if let Some(base) = base {
                return update_file(change, &file, (base, note), &bytes);
            }
            // A library of an earlier version does not say what the file was. It has not changed
            // since, or the import would have merged it.
            let text = decode_text(&bytes, None).map_err(io::Error::other)?;
            let base = NoteDraft { content: text.into_owned(), ..note.clone() };
            update_file(change, &file, (&base, note), &bytes)
        }
    }
}

fn update_file(
    change: &LocalChange,
    file: &NoteFile,
    (base, note): (&NoteDraft, &NoteDraft),
    bytes: &[u8],
) -> io::Result<WriteOutcome> {
    let Ok(text) = decode_text(bytes, None) else { return Ok(WriteOutcome::Changed) };
    if text != base.content {
        return Ok(WriteOutcome::Changed);
    }
    let new = edit_note_text(path_of(change), base, note);
    if new == text {
        // After an interruption, the file of a new note is there and not yet imported.
        let is_new = change.is_planned;
        return Ok(if is_new { WriteOutcome::Written } else { WriteOutcome::Unchanged });
    }
    let encoding = TextEncoding::detect(bytes);
    let Some(new) = encoding.encode(&new) else {
        return Ok(WriteOutcome::Refused(format!(
            "the file is {}, which lacks a character of the new text; save it as UTF-8",
            encoding.name()
        )));
    };
    Ok(if file.replace(bytes, &new)? { WriteOutcome::Written } else { WriteOutcome::Changed })
}

/// Writes the file of a note that has none. `base` is what it was before it was deleted.
fn create_file(
    root: &Path,
    relative: &Path,
    note: &NoteDraft,
    base: Option<&NoteDraft>,
) -> io::Result<WriteOutcome> {
    if let Some(base) = base
        && restore_from_trash(root, relative, base)?
    {
        return Ok(WriteOutcome::Written);
    }
    let nothing = NoteDraft::default();
    let text = edit_note_text(&root.join(relative), base.unwrap_or(&nothing), note);
    let file = NoteFile::locate(root, relative, MissingFolders::Create)?;
    let file = file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let is_created = file.create(text.as_bytes())?;
    Ok(if is_created { WriteOutcome::Written } else { WriteOutcome::Changed })
}

/// Moves the file of a note back from the trash, if one there has the text that the note had when it was
/// deleted. Returns whether there was one.
fn restore_from_trash(root: &Path, relative: &Path, base: &NoteDraft) -> io::Result<bool> {
    for number in 1..MAX_SAME_NAMES {
        let Some(trashed) =
            NoteFile::locate(root, &trash_path(relative, number), MissingFolders::Keep)?
        else {
            return Ok(false);
        };
        let Some(bytes) = trashed.read()? else { return Ok(false) };
        if decode_text(&bytes, None).is_ok_and(|text| text == base.content) {
            let file = NoteFile::locate(root, relative, MissingFolders::Create)?;
            let file = file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            return trashed.move_to(&file, &bytes);
        }
    }
    Ok(false)
}

/// Returns the path of a file in the trash; from 2, the number is in its name.
fn trash_path(relative: &Path, number: usize) -> PathBuf {
    let first = Path::new(TRASH).join(relative);
    if number == 1 { first } else { numbered(&first, number) }
}

/// Moves the file of a deleted note to the trash, unless another program has changed it since.
fn move_to_trash(
    root: &Path,
    relative: &Path,
    file: &NoteFile,
    (base, bytes): (Option<&NoteDraft>, &[u8]),
) -> io::Result<WriteOutcome> {
    let text = decode_text(bytes, None);
    if let Some(base) = base
        && text.is_ok_and(|text| text != base.content)
    {
        return Ok(WriteOutcome::Changed);
    }
    for number in 1..MAX_SAME_NAMES {
        let name = trash_path(relative, number);
        let Some(target) = NoteFile::locate(root, &name, MissingFolders::Create)? else { continue };
        if target.read()?.is_some() {
            continue;
        }
        let is_moved = file.move_to(&target, bytes)?;
        return Ok(if is_moved { WriteOutcome::Trashed } else { WriteOutcome::Changed });
    }
    Ok(WriteOutcome::Refused("too many files in the trash have its name".to_owned()))
}
