//! Sessions whose files grow while they are watched: only the lines that were added are read (ADR 78).
//!
//! The state of a file stays in memory: it holds the last message as it was written, and the secrets
//! that were found.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use vademecum_import::FollowMode;
use vademecum_sessions::{Redactor, SessionTail};

use super::selection::SelectedFile;

/// Maximum number of files that are followed. Of others, the whole file is read when it grows.
const MAX_TAILS: usize = 256;

/// The files of sessions that are followed.
#[derive(Debug, Default)]
pub(super) struct SessionTails {
    files: HashMap<PathBuf, FollowedFile>,
    /// Files of which only the added lines were read, in this import.
    continued: HashSet<PathBuf>,
    /// Number of files that were followed so far.
    count: u64,
}

/// A file that is followed.
#[derive(Debug)]
struct FollowedFile {
    tail: Box<SessionTail>,
    redactor: Redactor,
    /// Grows with each use.
    used: u64,
}

impl SessionTails {
    /// Sets how the changed files are read.
    pub(super) fn prepare(&mut self, files: &mut [SelectedFile]) {
        self.continued.clear();
        for file in files {
            file.follow = match self.files.get(&file.entry.path) {
                Some(followed) => FollowMode::After(followed.tail.clone()),
                None => FollowMode::Start,
            };
        }
    }

    /// Takes the secrets that were found in a file.
    pub(super) fn take_redactor(&mut self, path: &Path) -> Option<Redactor> {
        self.files.remove(path).map(|followed| followed.redactor)
    }

    /// Marks that only the added lines of a file were read.
    pub(super) fn mark_continued(&mut self, path: &Path) {
        self.continued.insert(path.to_owned());
    }

    /// Forgets a file, so that the whole file is read.
    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(path);
        self.continued.remove(path);
    }

    /// Returns whether a file is followed.
    pub(super) fn is_known(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// Returns whether only the added lines of a file were read.
    pub(super) fn is_continued(&self, path: &Path) -> bool {
        self.continued.contains(path)
    }

    /// Remembers where the lines of a file end.
    pub(super) fn keep(&mut self, path: PathBuf, tail: Box<SessionTail>, redactor: Redactor) {
        self.count += 1;
        self.files.insert(path, FollowedFile { tail, redactor, used: self.count });
        if self.files.len() > MAX_TAILS {
            let oldest = self.files.iter().min_by_key(|(_, file)| file.used);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                self.files.remove(&path);
            }
        }
    }
}
