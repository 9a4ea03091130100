//! What is in a folder, to see whether anything in it has changed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Every file below a folder: what it holds and when it was changed.
pub(crate) fn state(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(state(&path));
        } else {
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            files.insert(path.clone(), (fs::read(path).unwrap(), changed));
        }
    }
    files
}
