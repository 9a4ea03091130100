//! What was broken off and left: files of collections that no record names, folders
//! of restores.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::finding::Findings;
use crate::{actors::chain, app::App, cli::aside};

/// How long a folder has lain there that nobody is at any more.
const RESTED: Duration = Duration::from_hours(1);

const MEND: &str = "`vademecum check --repair` takes it away";

/// Looks for what nobody uses, and takes it away if that is wanted.
pub(super) fn look(app: &App, data: &Path, repair: bool, findings: &mut Findings) {
    if repair {
        let before = unused(app, findings);
        app.syncs().sweep();
        for path in before.iter().filter(|path| !path.exists()) {
            findings.mended(path, "no collection used it; it was taken away");
        }
    }
    for path in unused(app, findings) {
        findings.warn(&path.display().to_string(), "no collection uses this file", MEND);
    }
    for folder in folders(data, aside::PREFIX) {
        look_at_draft(data, &folder, repair, findings);
    }
    for folder in folders(data, aside::KEPT) {
        let what = "what was there before a restore; remove it when nobody misses it";
        findings.sound(&folder.display().to_string(), what);
    }
}

fn unused(app: &App, findings: &mut Findings) -> Vec<PathBuf> {
    app.collections().unused().unwrap_or_else(|error| {
        let place = app.collections().folder().display().to_string();
        findings.warn(&place, &chain(&error), "let the server read the folder");
        Vec::new()
    })
}

/// Looks at a folder in which a restore was made ready.
fn look_at_draft(data: &Path, draft: &Path, repair: bool, findings: &mut Findings) {
    let place = draft.display().to_string();
    if is_needed(data, draft) {
        let what = "a restore was broken off; a database in here has not come to its place";
        return findings.wrong(&place, what, "restore again from the same backup");
    }
    if !has_rested(draft) {
        let what = "a restore is under way, or was broken off lately";
        return findings.warn(&place, what, "look again in an hour");
    }
    if !repair {
        return findings.warn(&place, "it is left of a restore that was broken off", MEND);
    }
    match fs::remove_dir_all(draft) {
        Ok(()) => findings.mended(draft, "it was left of a restore, and was taken away"),
        Err(error) => findings.warn(&place, &format!("it stays: {error}"), "remove it"),
    }
}

/// Whether anything in it is missing where it belongs.
fn is_needed(data: &Path, draft: &Path) -> bool {
    let files = walkdir::WalkDir::new(draft).into_iter().filter_map(Result::ok);
    let mut databases =
        files.filter(|it| it.path().extension().is_some_and(|ending| ending == "db"));
    databases.any(|it| it.path().strip_prefix(draft).is_ok_and(|name| !data.join(name).exists()))
}

fn has_rested(folder: &Path) -> bool {
    let changed = fs::metadata(folder).and_then(|about| about.modified());
    let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.is_some_and(|age| age > RESTED)
}

/// The folders here whose names begin so.
fn folders(data: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(data).into_iter().flatten().filter_map(Result::ok);
    let ours = entries.filter(|it| it.file_name().to_string_lossy().starts_with(beginning));
    let mut found: Vec<_> = ours.map(|it| it.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}
