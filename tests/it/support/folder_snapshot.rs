//! Snapshots of a folder, for detecting changes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Returns the content and modification time of every file below a folder.
pub(crate) fn folder_snapshot(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "sock") {
            // Where a server listens; it has no content.
            continue;
        }
        if path.is_dir() {
            files.extend(folder_snapshot(&path));
        } else {
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            files.insert(path.clone(), (fs::read(path).unwrap(), changed));
        }
    }
    files
}
