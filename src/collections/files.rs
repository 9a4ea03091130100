//! The files that collections are kept in: `<name>.<n>.db`, where `n` grows with
//! each time that a collection is made anew.
//!
//! Whoever builds a collection holds the lock of its name. Files that no
//! record names are left by a build that was broken off, or have been replaced;
//! the next build takes them away.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use vademecum_kit::{
    model::Timestamp,
    store::{files_of, make_private_folder},
};

use super::{CollectionError, Record};

/// How long a file is kept that was replaced: somebody may still read from it.
const KEPT_MILLISECONDS: f64 = 60_000.0;

/// The right to write the files of one collection. Goes with the process that
/// holds it, however that ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a collection; fails if somebody holds it.
    pub(super) fn take(folder: &Path, name: &str) -> Result<Self, CollectionError> {
        make_private_folder(folder)?;
        // The lock file stays: taking it away would let two hold locks of one name.
        let path = lock_file(folder, name);
        let failed = |source| CollectionError::Files { path: path.clone(), source };
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(CollectionError::Busy(name.to_owned())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// The lock of a collection.
fn lock_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.lock", name.to_ascii_lowercase()))
}

/// A file of the folder.
#[derive(Debug)]
struct Numbered {
    path: PathBuf,
    name: String,
    number: u64,
}

/// The file that a collection begins with. Nothing is ever written into it: it
/// stands for the collection until that was built.
pub(super) fn first(name: &str) -> String {
    file_name(name, 0)
}

/// A file for a collection that no other has, or has had.
pub(super) fn next(folder: &Path, record: &Record) -> Result<String, CollectionError> {
    let taken = numbered(folder)?.into_iter().filter(|file| is(&file.name, &record.name));
    let greatest = taken.map(|file| file.number).max().unwrap_or(0);
    let current = parse(&record.file).map_or(0, |(_, number)| number);
    Ok(file_name(&record.name, greatest.max(current) + 1))
}

/// Takes away the files of a collection that are not in use: all, if there is no
/// record of it. Whoever calls this holds its lock.
pub(super) fn sweep(
    folder: &Path,
    name: &str,
    record: Option<&Record>,
    now: Timestamp,
) -> Result<(), CollectionError> {
    unused_of(folder, name, record, now)?.iter().for_each(|path| remove(path));
    Ok(())
}

/// The files of a collection that are not in use: all, if there is no record of it.
fn unused_of(
    folder: &Path,
    name: &str,
    record: Option<&Record>,
    now: Timestamp,
) -> Result<Vec<PathBuf>, CollectionError> {
    let current = record.and_then(|record| parse(&record.file)).map(|(_, number)| number);
    let swapped = record.and_then(|record| record.updated_at);
    let is_fresh = swapped.is_some_and(|swapped| {
        let age = now.as_unix_milliseconds() - swapped.as_unix_milliseconds();
        // A clock that went back a little makes nothing old, one that was far ahead keeps
        // nothing for years.
        age.abs() < KEPT_MILLISECONDS
    });
    let in_use = |number: u64| {
        current.is_some_and(|current| number == current || number < current && is_fresh)
    };
    let of_name = numbered(folder)?.into_iter().filter(|file| is(&file.name, name));
    Ok(of_name.filter(|file| !in_use(file.number)).map(|file| file.path).collect())
}

/// The files that no collection uses, but for those being built.
pub(super) fn unused(
    folder: &Path,
    records: &[Record],
    now: Timestamp,
) -> Result<Vec<PathBuf>, CollectionError> {
    let mut found = Vec::new();
    for name in names(folder)? {
        // Whoever only looks makes no lock.
        let is_built = lock_file(folder, &name).exists() && Lock::take(folder, &name).is_err();
        let record = records.iter().find(|record| is(&record.name, &name));
        if !is_built {
            found.extend(unused_of(folder, &name, record, now)?);
        }
    }
    Ok(found)
}

/// The names that files are called by, in lower case.
fn names(folder: &Path) -> Result<BTreeSet<String>, CollectionError> {
    let lower = |file: Numbered| file.name.to_ascii_lowercase();
    Ok(numbered(folder)?.into_iter().map(lower).collect())
}

/// Takes away the files that no collection uses, but for those being built.
pub(super) fn sweep_all(
    folder: &Path,
    records: &[Record],
    now: Timestamp,
) -> Result<(), CollectionError> {
    for name in names(folder)? {
        let Ok(_lock) = Lock::take(folder, &name) else { continue };
        let record = records.iter().find(|record| is(&record.name, &name));
        sweep(folder, &name, record, now)?;
    }
    Ok(())
}

/// Removes a database. What cannot be removed now is left for the next time.
fn remove(path: &Path) {
    for file in files_of(path) {
        match fs::remove_file(&file) {
            Ok(()) => tracing::info!(file = %path.display(), "a collection's old file was removed"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "an old file stays for now");
            }
        }
    }
}

fn numbered(folder: &Path) -> Result<Vec<Numbered>, CollectionError> {
    let failed = |source| CollectionError::Files { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let file = entry.file_name();
        if let Some((name, number)) = file.to_str().and_then(parse) {
            found.push(Numbered { path: entry.path(), name: name.to_owned(), number });
        }
    }
    Ok(found)
}

fn file_name(name: &str, number: u64) -> String {
    format!("{name}.{number}.db")
}

/// The name and the number of a file.
fn parse(file: &str) -> Option<(&str, u64)> {
    let (name, number) = file.strip_suffix(".db")?.rsplit_once('.')?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((name, number.parse().ok().filter(|_| digits)?))
}

fn is(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(file: &str, updated_at: &str) -> Record {
        Record {
            source_id: 1,
            name: "Docs".to_owned(),
            owner: None,
            file: file.to_owned(),
            plan: "{}".to_owned(),
            updated_at: Timestamp::parse(updated_at).ok(),
        }
    }

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        folder
    }

    fn files(folder: &tempfile::TempDir) -> Vec<String> {
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
    fn a_file_that_was_just_replaced_stays_a_while() {
        let (folder, record) = (folder(&ALL), record("Docs.2.db", "2026-01-01T00:00:00Z"));
        let at = |text| Timestamp::parse(text).unwrap();
        sweep(folder.path(), "docs", Some(&record), at("2026-01-01T00:00:30Z")).unwrap();
        let kept = ["Docs.1.db", "Docs.1.db-wal", "Docs.2.db", "docs.1.1.db", "notes.db", "x.1.db"];
        assert_eq!(files(&folder), kept, "what comes after it was never finished");
        sweep(folder.path(), "docs", Some(&record), at("2026-01-01T00:02:00Z")).unwrap();
        assert_eq!(files(&folder), ["Docs.2.db", "docs.1.1.db", "notes.db", "x.1.db"]);
        sweep(folder.path(), "docs", None, Timestamp::now()).unwrap();
        assert_eq!(files(&folder), ["docs.1.1.db", "notes.db", "x.1.db"]);
    }

    #[test]
    fn what_is_being_built_is_left_alone() {
        let folder = folder(&["a.1.db", "b.1.db"]);
        let lock = Lock::take(folder.path(), "A").unwrap();
        assert!(matches!(Lock::take(folder.path(), "a"), Err(CollectionError::Busy(_))));
        sweep_all(folder.path(), &[], Timestamp::now()).unwrap();
        assert!(files(&folder).contains(&"a.1.db".to_owned()));
        assert!(!files(&folder).contains(&"b.1.db".to_owned()));
        drop(lock);
        sweep_all(folder.path(), &[], Timestamp::now()).unwrap();
        assert_eq!(files(&folder), ["a.lock", "b.lock"]);
    }

    #[test]
    fn a_number_is_used_once() {
        let folder = folder(&ALL);
        assert_eq!(next(folder.path(), &record("Docs.2.db", "")).unwrap(), "Docs.4.db");
        assert_eq!(next(folder.path(), &record("Docs.9.db", "")).unwrap(), "Docs.10.db");
        assert_eq!(first("Docs"), "Docs.0.db");
        for name in ["a.db", "a.1.db-wal", "a.+1.db", "a..db"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
