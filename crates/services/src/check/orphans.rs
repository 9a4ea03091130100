//! Orphan check: unused files of interrupted collection builds, and folders of interrupted
//! restores.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use vademecum_actors::{
    collections::{Catalogue, SyncJobs},
    error_chain,
};

use super::findings::CheckFindings;
use crate::atomic_write;

/// Minimum age of a temporary folder before it counts as abandoned.
const MIN_ABANDONED_AGE: Duration = Duration::from_hours(1);

const REPAIR_HINT: &str = "`vademecum check --repair` removes it";

/// Checks for orphaned files and folders, and removes them if `repair` is set.
pub(super) fn check_orphans(
    collections: &Catalogue,
    syncs: &SyncJobs,
    data: &Path,
    repair: bool,
    findings: &mut CheckFindings,
) {
    if repair {
        let before = unused_collection_files(collections, findings);
        syncs.remove_unused_files();
        for path in before.iter().filter(|path| !path.exists()) {
            findings.add_repaired(path, "no collection used it; it was removed");
        }
    }
    for path in unused_collection_files(collections, findings) {
        findings.add_warning(
            &path.display().to_string(),
            "no collection uses this file",
            REPAIR_HINT,
        );
    }
    for folder in folders_with_prefix(data, atomic_write::TEMPORARY_PREFIX) {
        check_restore_folder(data, &folder, repair, findings);
    }
    for folder in folders_with_prefix(data, atomic_write::REPLACED_PREFIX) {
        let what = "databases replaced by a restore; remove the folder when they are not needed";
        findings.add_ok(&folder.display().to_string(), what);
    }
}

fn unused_collection_files(collections: &Catalogue, findings: &mut CheckFindings) -> Vec<PathBuf> {
    collections.unused_files().unwrap_or_else(|error| {
        let place = collections.folder().display().to_string();
        findings.add_warning(
            &place,
            &error_chain(&error),
            "make the folder readable for the server",
        );
        Vec::new()
    })
}

/// Checks the temporary folder of a restore.
fn check_restore_folder(data: &Path, draft: &Path, repair: bool, findings: &mut CheckFindings) {
    let place = draft.display().to_string();
    if contains_missing_database(data, draft) {
        let what = "a restore was interrupted; a database in this folder was not moved into place";
        return findings.add_error(&place, what, "restore again from the same backup");
    }
    if !is_abandoned(draft) {
        let what = "a restore is in progress, or was interrupted recently";
        return findings.add_warning(&place, what, "check again in an hour");
    }
    if !repair {
        return findings.add_warning(&place, "it remains from an interrupted restore", REPAIR_HINT);
    }
    match fs::remove_dir_all(draft) {
        Ok(()) => {
            findings
                .add_repaired(draft, "it remained from an interrupted restore, and was removed");
        }
        Err(error) => {
            findings.add_warning(&place, &format!("cannot be removed: {error}"), "remove it");
        }
    }
}

/// Returns `true` if the folder contains a database that is missing in the data folder.
fn contains_missing_database(data: &Path, draft: &Path) -> bool {
    let files = walkdir::WalkDir::new(draft).into_iter().filter_map(Result::ok);
    let mut databases =
        files.filter(|it| it.path().extension().is_some_and(|ending| ending == "db"));
    databases.any(|it| it.path().strip_prefix(draft).is_ok_and(|name| !data.join(name).exists()))
}

fn is_abandoned(folder: &Path) -> bool {
    let changed = fs::metadata(folder).and_then(|about| about.modified());
    let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.is_some_and(|age| age > MIN_ABANDONED_AGE)
}

/// Returns the subfolders with this name prefix, sorted.
fn folders_with_prefix(data: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(data).into_iter().flatten().filter_map(Result::ok);
    let ours = entries.filter(|it| it.file_name().to_string_lossy().starts_with(beginning));
    let mut found: Vec<_> = ours.map(|it| it.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
