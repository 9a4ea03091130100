//! What an import knows of files: their origins, and those of the last import that are missing now.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

use vademecum_actors::{Library, error_chain};
use vademecum_import::{
    FileEntry, FileStamp, FileWalk, ImportOutcome, Ledger, LedgerEntry, Problem, SourceFile,
    digest, placeholder_of,
};
use vademecum_model::{Deadline, Draft, DraftBody, SourceName, Uri};
use vademecum_source::SourceError;

use super::{
    error::ImportError,
    renames::{MAX_COMPARED, Renames, closeness},
};

/// Maximum time to read the text of a note.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of files from which on it is unlikely that a person deleted all of them and added another at
/// once.
const MIN_LOST_FILES: usize = 3;
/// Maximum size of a file that is compared with those of a lost folder, in bytes.
const MAX_COMPARED_FILE_BYTES: u64 = 1 << 20;

/// Returns the ledger entries of the named files and folders, by path.
pub(super) fn known_entries(
    ledger: &Ledger,
    named: &[PathBuf],
    kind: Option<SourceName>,
) -> Result<HashMap<PathBuf, LedgerEntry>, ImportError> {
    let mut known = HashMap::new();
    for path in named {
        let below = ledger.entries_below(path)?.into_iter().filter(|entry| entry.asked == kind);
        known.extend(below.map(|entry| (entry.path.clone(), entry)));
    }
    Ok(known)
}

/// Returns an error if a followed folder has files, but none of those of the last import, under no
/// name: most likely another file system belongs there, and a program has written a file meanwhile.
pub(super) async fn check_folders(
    library: &Library,
    listing: &FileWalk,
    known: &HashMap<PathBuf, LedgerEntry>,
) -> Result<(), ImportError> {
    let present = paths_of(&listing.files);
    for folder in &listing.named_paths {
        let of_folder = |entry: &&LedgerEntry| {
            entry.outcome == ImportOutcome::Imported && entry.path.starts_with(folder)
        };
        let before: Vec<&LedgerEntry> = known.values().filter(of_folder).collect();
        let is_there = |entry: &&LedgerEntry| {
            present.contains(&entry.path) || placeholder_of(&entry.path).exists()
        };
        let new: Vec<&Path> = listing.files.iter().map(|file| file.path.as_path()).collect();
        let new: Vec<&Path> = new.into_iter().filter(|path| path.starts_with(folder)).collect();
        if before.len() < MIN_LOST_FILES || before.iter().any(is_there) || new.is_empty() {
            continue;
        }
        if !has_moved(library, &before, &new).await? {
            return Err(ImportError::LostFolder { path: folder.clone(), files: before.len() });
        }
    }
    Ok(())
}

/// Returns `true` if one of the new files is one of those before: by its name, its content or most of
/// its lines.
async fn has_moved(
    library: &Library,
    before: &[&LedgerEntry],
    new: &[&Path],
) -> Result<bool, ImportError> {
    let names: HashSet<_> = before.iter().filter_map(|entry| entry.path.file_name()).collect();
    if new.iter().filter_map(|path| path.file_name()).any(|name| names.contains(name)) {
        return Ok(true);
    }
    let digests: HashSet<_> = before.iter().filter_map(|entry| entry.digest.as_ref()).collect();
    let mut texts = Vec::new();
    for path in new.iter().take(MAX_COMPARED) {
        let size = FileStamp::from_path(path).map_or(u64::MAX, |stamp| stamp.size);
        if size > MAX_COMPARED_FILE_BYTES {
            continue;
        }
        let Ok(file) = SourceFile::open(path, None) else { continue };
        if digests.contains(&digest("", [file.bytes.as_slice()])) {
            return Ok(true);
        }
        texts.extend(file.text().ok().map(|text| (path.to_path_buf(), text.into_owned())));
    }
    let notes = before.iter().copied().filter(|entry| is_single_note(entry));
    let renames = renames_of(library, notes).await?;
    let texts: Vec<(PathBuf, &str)> =
        texts.iter().map(|(path, text)| (path.clone(), text.as_str())).collect();
    Ok(!renames.find(&texts, |_| true).is_empty())
}

/// Returns the texts of missing files with one note, as the library has them.
pub(super) async fn renames_of<'e>(
    library: &Library,
    missing: impl Iterator<Item = &'e LedgerEntry>,
) -> Result<Renames, ImportError> {
    let mut renames = Renames::default();
    let Some(notes) = library.source(SourceName::Notes) else { return Ok(renames) };
    for entry in missing.take(MAX_COMPARED) {
        let uri = entry.items.first().and_then(|item| item.parse::<Uri>().ok());
        let Some(uri) = uri else { continue };
        let id = uri.id.as_str().into();
        match notes.load_draft(&id, Deadline::after(READ_TIMEOUT)).await {
            Ok(Draft { body: DraftBody::Note(note), .. }) => {
                renames.add_deleted(entry.path.clone(), &note.content);
            }
            // The note was deleted in the library.
            Ok(_) | Err(SourceError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(renames)
}

/// Returns `true` for the entry of a file that is one note.
pub(super) fn is_single_note(entry: &LedgerEntry) -> bool {
    entry.source == Some(SourceName::Notes) && entry.items.len() == 1
}

/// Returns the missing files whose content new files have, by new path.
pub(super) fn same_files(
    missing: &HashMap<PathBuf, LedgerEntry>,
    new: &[(LedgerEntry, Vec<Draft>)],
) -> HashMap<PathBuf, PathBuf> {
    let (mut found, mut used) = (HashMap::new(), HashSet::new());
    for (entry, _) in new.iter().filter(|(entry, _)| entry.digest.is_some()) {
        let same = missing.values().filter(|gone| gone.digest == entry.digest);
        let unused = same.filter(|gone| !used.contains(&gone.path));
        if let Some(best) = unused.max_by_key(|gone| closeness(&gone.path, &entry.path)) {
            used.insert(best.path.clone());
            found.insert(entry.path.clone(), best.path.clone());
        }
    }
    found
}

/// Returns the path and the text of a file with one note.
pub(super) fn text_of((entry, drafts): &(LedgerEntry, Vec<Draft>)) -> Option<(PathBuf, &str)> {
    match drafts.as_slice() {
        [Draft { body: DraftBody::Note(note), .. }] => Some((entry.path.clone(), &note.content)),
        _ => None,
    }
}

/// Returns the paths of files.
pub(super) fn paths_of(files: &[FileEntry]) -> HashSet<PathBuf> {
    files.iter().map(|file| file.path.clone()).collect()
}

/// Returns `true` if there is no file with this path.
pub(super) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns the sources of the items of a file.
pub(super) fn sources_of(entry: &LedgerEntry) -> BTreeSet<SourceName> {
    let of_items = entry.items.iter().filter_map(|item| item.parse::<Uri>().ok());
    of_items.map(|uri| uri.source).chain(entry.source).collect()
}

/// Returns the origin of an item that is a whole file.
pub(super) fn file_origin(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// Returns a problem that concerns a whole file or item. The path is removed from the start of the
/// reason, because callers print it as well.
pub(super) fn file_problem(path: &Path, error: &dyn std::error::Error) -> Problem {
    let reason = error_chain(error);
    let path = path.display();
    let bare = [format!("{path} "), format!("cannot read {path}: ")]
        .into_iter()
        .find_map(|path| reason.strip_prefix(&path).map(str::to_owned));
    Problem { place: String::new(), reason: bare.unwrap_or(reason) }
}
