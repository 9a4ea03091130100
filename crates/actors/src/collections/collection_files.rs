//! Database files of collections: `<name>.<n>.db`, where `n` grows with each rebuild.
//!
//! A build holds the lock of the collection's name. Files that no catalogue record refers to were
//! replaced or left by an aborted build; those that nothing uses are removed.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use vademecum_store::create_private_folder;

use super::{CollectionError, CollectionRecord, generation_lease};

/// The exclusive right to write the files of one collection. The operating system releases it when
/// the process ends.
#[derive(Debug)]
pub(super) struct CollectionLock {
    _file: File,
}

impl CollectionLock {
    /// Acquires the lock of a collection. Fails with [`CollectionError::Busy`] if another holds it.
    pub(super) fn acquire(folder: &Path, name: &str) -> Result<Self, CollectionError> {
        create_private_folder(folder)?;
        // The lock file is never removed, since otherwise two processes could hold locks of the
        // same name.
        let path = lock_path(folder, name);
        let failed = |source| CollectionError::Files { path: path.clone(), source };
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(CollectionError::Busy(name.to_owned())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// Returns the path of the lock file of a collection.
fn lock_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.lock", name.to_ascii_lowercase()))
}

/// Number of the file of a collection that was never built.
const INITIAL_NUMBER: u64 = 0;

/// A database file with the parts of its name.
#[derive(Debug)]
struct NumberedFile {
    path: PathBuf,
    name: String,
    number: u64,
}

/// Returns the file name that a new collection has until its first build ends. The file stays
/// empty; the first reader creates it.
pub(super) fn initial_file_name(name: &str) -> String {
    file_name(name, INITIAL_NUMBER)
}

/// Returns whether a file name is that of a collection that was never built.
pub(super) fn is_initial(file: &str) -> bool {
    parse_file_name(file).is_some_and(|(_, number)| number == INITIAL_NUMBER)
}

/// Returns an unused number for the file of a collection, greater than all before.
pub(super) fn next_number(
    folder: &Path,
    name: &str,
    record: Option<&CollectionRecord>,
) -> Result<u64, CollectionError> {
    let taken = list_numbered(folder)?.into_iter().filter(|file| is_same_name(&file.name, name));
    let greatest = taken.map(|file| file.number).max().unwrap_or(0);
    let current = record.map_or(0, |record| file_number(&record.file));
    Ok(greatest.max(current) + 1)
}

/// Returns the number in a file name.
pub(super) fn file_number(file: &str) -> u64 {
    parse_file_name(file).map_or(0, |(_, number)| number)
}

/// Retires the files of a collection that its record does not refer to: all of them if `record` is
/// `None`. Those in use are removed when their last reader leaves. The caller must hold the lock,
/// and have read the record since.
pub(super) fn remove_unused(
    folder: &Path,
    name: &str,
    record: Option<&CollectionRecord>,
) -> Result<(), CollectionError> {
    replaced_files(folder, name, record)?.iter().for_each(|path| generation_lease::retire(path));
    Ok(())
}

/// Returns the files of a collection that its record does not refer to.
fn replaced_files(
    folder: &Path,
    name: &str,
    record: Option<&CollectionRecord>,
) -> Result<Vec<PathBuf>, CollectionError> {
    let current = record.and_then(|record| parse_file_name(&record.file)).map(|(_, number)| number);
    let of_name = list_numbered(folder)?.into_iter().filter(|file| is_same_name(&file.name, name));
    Ok(of_name.filter(|file| Some(file.number) != current).map(|file| file.path).collect())
}

/// Returns the files that no collection uses, except those of running builds and those that are
/// still read.
pub(super) fn unused_files(
    folder: &Path,
    records: &[CollectionRecord],
) -> Result<Vec<PathBuf>, CollectionError> {
    let mut found = Vec::new();
    for name in collection_names(folder)? {
        // A read must not create a lock file.
        let is_built =
            lock_path(folder, &name).exists() && CollectionLock::acquire(folder, &name).is_err();
        let record = records.iter().find(|record| is_same_name(&record.name, &name));
        if !is_built {
            let replaced = replaced_files(folder, &name, record)?.into_iter();
            found.extend(replaced.filter(|path| !generation_lease::is_leased(path)));
        }
    }
    Ok(found)
}

/// Returns the names of the collections that have files, in lower case.
fn collection_names(folder: &Path) -> Result<BTreeSet<String>, CollectionError> {
    let lower = |file: NumberedFile| file.name.to_ascii_lowercase();
    Ok(list_numbered(folder)?.into_iter().map(lower).collect())
}

/// Retires the files that no collection uses, except those of running builds. `find_record` reads
/// the record of a name; it is called while the lock is held, since a build may just have ended.
pub(super) fn remove_all_unused(
    folder: &Path,
    find_record: impl Fn(&str) -> Result<Option<CollectionRecord>, CollectionError>,
) -> Result<(), CollectionError> {
    for name in collection_names(folder)? {
        let Ok(_lock) = CollectionLock::acquire(folder, &name) else { continue };
        remove_unused(folder, &name, find_record(&name)?.as_ref())?;
    }
    Ok(())
}

fn list_numbered(folder: &Path) -> Result<Vec<NumberedFile>, CollectionError> {
    let failed = |source| CollectionError::Files { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        // A `.use` file may be all that remains of a database.
        let path = entry.map_err(failed)?.path();
        let is_use = path.extension().is_some_and(|ending| ending == "use");
        let path = if is_use { path.with_extension("db") } else { path };
        let file = path.file_name().and_then(|file| file.to_str());
        if let Some((name, number)) = file.and_then(parse_file_name) {
            found.push(NumberedFile { name: name.to_owned(), number, path });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|one, other| one.path == other.path);
    Ok(found)
}

/// Returns the file name of a collection with this number.
pub(super) fn file_name(name: &str, number: u64) -> String {
    format!("{name}.{number}.db")
}

/// Splits a file name into the name of the collection and the number.
fn parse_file_name(file: &str) -> Option<(&str, u64)> {
    let (name, number) = file.strip_suffix(".db")?.rsplit_once('.')?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((name, number.parse().ok().filter(|_| digits)?))
}

fn is_same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use vademecum_model::Timestamp;

    use super::{super::generation_lease::GenerationLease, *};

    fn record(file: &str, updated_at: &str) -> CollectionRecord {
        CollectionRecord {
            source_id: 1,
            name: "Docs".to_owned(),
            owner: None,
            file: file.to_owned(),
            plan: "{}".to_owned(),
            updated_at: Timestamp::parse(updated_at).ok(),
        }
    }

    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        folder
    }

    fn file_names(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    const ALL: [&str; 8] = [
        "Docs.1.db",
        "Docs.1.db-wal",
        "Docs.2.db",
        "Docs.3.db",
        "Docs.3.db-shm",
        "docs.1.1.db",
        "notes.db",
        "x.1.db",
    ];

    #[test]
    fn replaced_file_is_kept_while_in_use() {
        let (folder, record) = (folder_with(&ALL), record("Docs.2.db", "2026-01-01T00:00:00Z"));
        let reader = GenerationLease::acquire(&folder.path().join("Docs.1.db")).unwrap();
        remove_unused(folder.path(), "docs", Some(&record)).unwrap();
        let used = ["Docs.1.db", "Docs.1.db-wal", "Docs.1.use"];
        let kept = ["Docs.2.db", "docs.1.1.db", "notes.db", "x.1.db"];
        assert_eq!(file_names(&folder), [&used[..], &kept[..]].concat());
        let unused = unused_files(folder.path(), std::slice::from_ref(&record)).unwrap();
        assert!(!unused.iter().any(|path| path.ends_with("Docs.1.db")), "{unused:?}");
        drop(reader);
        assert_eq!(file_names(&folder), kept);
        fs::write(folder.path().join("Docs.3.use"), "").unwrap();
        remove_unused(folder.path(), "docs", Some(&record)).unwrap();
        assert_eq!(file_names(&folder), kept);
        remove_unused(folder.path(), "docs", None).unwrap();
        assert_eq!(file_names(&folder), kept[1..]);
    }

    #[test]
    fn live_file_of_finished_build_is_kept() {
        let folder = folder_with(&["a.1.db", "a.2.db"]);
        // The build ends after the first read of the catalogue and before the lock.
        let live = CollectionRecord { name: "a".to_owned(), ..record("a.2.db", "") };
        remove_all_unused(folder.path(), |_| Ok(Some(live.clone()))).unwrap();
        assert_eq!(file_names(&folder), ["a.2.db", "a.lock"]);
        let failing = |_: &str| Err(CollectionError::Unknown("a".to_owned()));
        assert!(remove_all_unused(folder.path(), failing).is_err());
        assert_eq!(file_names(&folder), ["a.2.db", "a.lock"]);
    }

    #[test]
    fn running_build_keeps_its_files() {
        let folder = folder_with(&["a.1.db", "b.1.db"]);
        let lock = CollectionLock::acquire(folder.path(), "A").unwrap();
        assert!(matches!(
            CollectionLock::acquire(folder.path(), "a"),
            Err(CollectionError::Busy(_))
        ));
        remove_all_unused(folder.path(), |_| Ok(None)).unwrap();
        assert!(file_names(&folder).contains(&"a.1.db".to_owned()));
        assert!(!file_names(&folder).contains(&"b.1.db".to_owned()));
        drop(lock);
        remove_all_unused(folder.path(), |_| Ok(None)).unwrap();
        assert_eq!(file_names(&folder), ["a.lock", "b.lock"]);
    }

    #[test]
    fn file_numbers_are_never_reused() {
        let folder = folder_with(&ALL);
        let next = |file: &str| {
            let number = next_number(folder.path(), "docs", Some(&record(file, ""))).unwrap();
            file_name("Docs", number)
        };
        assert_eq!(
            (next("Docs.2.db").as_str(), next("Docs.9.db").as_str()),
            ("Docs.4.db", "Docs.10.db")
        );
        assert_eq!(next_number(folder.path(), "new", None).unwrap(), 1);
        assert_eq!(initial_file_name("Docs"), "Docs.0.db");
        for name in ["a.db", "a.1.db-wal", "a.+1.db", "a..db"] {
            assert_eq!(parse_file_name(name), None, "{name}");
        }
    }
}
