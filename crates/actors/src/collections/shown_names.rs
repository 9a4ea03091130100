//! Hides the names of collections of which a principal sees no document.
//!
//! Completions, errors, pages and tools all list the visible collections, so that a collection whose
//! documents are all hidden is the same as one that does not exist.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use vademecum_collections::Access;
use vademecum_core::auth::{Principal, Right};
use vademecum_model::Deadline;

use super::VisibleCollection;

/// Minimum age of a file for its times to prove that it has not changed: clocks of file systems are
/// coarse.
const MIN_FILE_AGE: Duration = Duration::from_secs(2);
/// Maximum number of remembered results.
const MAX_REMEMBERED: usize = 1_000;

/// Lengths and modification times of the files of a database.
type FileStamp = [Option<(u64, SystemTime)>; 2];

/// Remembers who sees documents of which collection. Without it, every request of a principal who
/// sees none would look at all documents.
#[derive(Debug, Default)]
pub(super) struct ShownNames {
    /// By file of the collection and access rights.
    remembered: Mutex<HashMap<(String, String), (FileStamp, bool)>>,
}

impl ShownNames {
    /// Returns whether a principal may learn that the collection exists: an administrator, or one who
    /// sees a document. A collection without documents is shown to its owner and to those who have its
    /// access tags; one that cannot be read is shown to its owner.
    pub(super) fn is_shown(
        &self,
        principal: &Principal,
        opened: &VisibleCollection,
        deadline: &Deadline,
    ) -> bool {
        if opened.access == Access::Everything || principal.has_right(Right::Admin) {
            return true;
        }
        let store = opened.collection.store();
        let key = (opened.record.file.clone(), format!("{:?}", opened.access));
        // A store that follows an archive changes when it is read.
        let stamp = if store.follows_archive() { None } else { file_stamp(store.path()) };
        if let Some(stamp) = &stamp
            && let Some((_, shown)) = self.lock().get(&key).filter(|(known, _)| known == stamp)
        {
            return *shown;
        }
        let sees = opened.collection.read(deadline.clone(), |reader| {
            opened.collection.sees_documents(reader, &opened.access)
        });
        let is_owner =
            opened.record.owner.as_deref().is_some_and(|it| it == principal.user().as_str());
        let shown = match sees {
            Ok(Some(sees)) => sees,
            Ok(None) => is_owner || opened.access != Access::Nothing,
            Err(error) => {
                let name = &opened.record.name;
                tracing::warn!(source = %name, %error, "`{name}` cannot be read, and is hidden");
                return is_owner;
            }
        };
        if let Some(stamp) = stamp {
            let mut remembered = self.lock();
            if remembered.len() >= MAX_REMEMBERED {
                remembered.clear();
            }
            remembered.insert(key, (stamp, shown));
        }
        shown
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(String, String), (FileStamp, bool)>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the stamp of a database, or `None` if it may have changed just now.
fn file_stamp(path: &Path) -> Option<FileStamp> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let stamp = |path: &Path| {
        let about = fs::metadata(path).ok()?;
        Some((about.len(), about.modified().ok()?))
    };
    let stamps = [stamp(path), stamp(Path::new(&log))];
    let rested = |(_, modified): &(u64, SystemTime)| {
        modified.elapsed().is_ok_and(|elapsed| elapsed >= MIN_FILE_AGE)
    };
    stamps.iter().flatten().all(rested).then_some(stamps)
}
