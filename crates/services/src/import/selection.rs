//! Selection of the files of an import that have to be read.

use std::{collections::HashMap, io::ErrorKind, path::PathBuf};

use vademecum_import::{
    Continuation, FileEntry, FileStamp, FollowMode, ImportOutcome, LedgerEntry, Problem,
    sync_copy_reason,
};

use super::{options::ImportOptions, summary::ImportSummary};

/// The files of an import.
#[derive(Default)]
pub(super) struct SelectedFiles {
    /// The files to read.
    pub(super) changed: Vec<SelectedFile>,
    /// The entries of the files to read.
    pub(super) previous: HashMap<PathBuf, LedgerEntry>,
    /// The entries of files whose content was found to be the same.
    pub(super) confirmed: Vec<LedgerEntry>,
}

/// A file to read.
#[derive(Clone, Debug)]
pub(super) struct SelectedFile {
    pub(super) entry: FileEntry,
    /// Size in bytes.
    pub(super) size: u64,
    /// Its continuation, if it was cut before.
    pub(super) continuation: Option<Continuation>,
    /// Whether the lines that were added to a session are read alone.
    pub(super) follow: FollowMode,
}

/// Returns the folder in which a file is found. A file that was imported with a wider folder keeps it, so that
/// naming the file or a folder below does not change the folders of its notes.
fn kept_root(found: Option<PathBuf>, before: Option<&LedgerEntry>) -> Option<PathBuf> {
    let wider = before
        .filter(|entry| entry.outcome == ImportOutcome::Imported && !entry.items.is_empty())
        .and_then(|entry| entry.root.as_ref().filter(|root| entry.path.starts_with(root)))
        .filter(|root| found.as_ref().is_none_or(|found| found.starts_with(root)));
    wider.cloned().or(found)
}

/// Selects the files to read. Those that have not changed are counted only.
pub(super) fn select_changed(
    files: Vec<FileEntry>,
    known: &mut HashMap<PathBuf, LedgerEntry>,
    options: &ImportOptions,
    summary: &mut ImportSummary,
) -> SelectedFiles {
    let mut selected = SelectedFiles::default();
    for found in files {
        let stamp = match FileStamp::from_path(&found.path) {
            Ok(stamp) => stamp,
            // It was renamed or deleted after it was listed; the next import finds out which.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                known.remove(&found.path);
                continue;
            }
            Err(_) => FileStamp::default(),
        };
        let before = known.get(&found.path);
        let root = kept_root(found.root, before);
        let found = FileEntry { path: found.path, root };
        if let Some(reason) = sync_copy_reason(&found.path)
            && found.root.is_some()
            && before.is_none_or(|entry| entry.items.is_empty())
        {
            let before = known.remove(&found.path);
            let mut entry = LedgerEntry::new(found.path, options.kind, found.root);
            (entry.outcome, entry.stamp) = (ImportOutcome::Skipped, stamp);
            entry.problems = vec![Problem { place: String::new(), reason: reason.to_owned() }];
            summary.count_file(&entry);
            if before.is_none_or(|before| before.stamp != stamp) {
                selected.confirmed.push(entry);
            }
            continue;
        }
        let mut continuation = None;
        match known.remove(&found.path) {
            Some(entry) if entry.is_up_to_date(stamp, options.limits) => {
                summary.count_unchanged(&entry);
                continue;
            }
            Some(entry) => {
                if let Some(entry) = entry.confirm_content(&found, stamp, options.limits) {
                    summary.count_unchanged(&entry);
                    selected.confirmed.push(entry);
                    continue;
                }
                if entry.stamp == stamp {
                    continuation = entry.continuation(options.limits);
                }
                selected.previous.insert(found.path.clone(), entry);
            }
            None => {}
        }
        let follow = FollowMode::Off;
        selected.changed.push(SelectedFile {
            entry: found,
            size: stamp.size,
            continuation,
            follow,
        });
    }
    selected
}
