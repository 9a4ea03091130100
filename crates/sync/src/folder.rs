//! A sync by a folder that other machines see: a disk, or one that Syncthing or a cloud copies.
//!
//! A file that is lost, late, doubled or in another order does no harm: each item in it says which
//! changes it has. What a machine misses in the folder, it writes again.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::named_params;
use vademecum_model::Deadline;
use vademecum_store::{Durability, Reader};

use crate::{
    SyncError,
    apply::MissingReferences,
    database::SyncedDatabase,
    error::InvalidInput,
    exchange_file::{FileHeader, read_file},
    folder_files::{FolderFiles, ListedFile},
    incoming::Incoming,
    key::SyncKey,
    outgoing::{next_batch, place_batch},
    replica::ReplicaLock,
    report::SyncReport,
    scan::record_local_changes,
    state::{self, FileKey, Place, SyncedItem},
};

/// Maximum time to read the rows about a folder.
const READ_TIMEOUT: Duration = Duration::from_hours(1);
/// Number of own files of a database above which small ones are written again as one.
const MAX_OWN_FILES: usize = 64;
/// Number of items from which on a file is not small.
const SMALL_FILE_ITEMS: usize = 500;

/// A library and its databases.
#[derive(Debug)]
pub struct SyncedLibrary {
    /// Folder of the library.
    pub folder: PathBuf,
    /// The databases.
    pub databases: Vec<SyncedDatabase>,
}

/// Options of a sync by a folder.
#[derive(Clone, Debug, Default)]
pub struct FolderOptions {
    /// Write files that are not encrypted, and read no others.
    pub is_plain: bool,
    /// File with the key of another machine, which the library takes.
    pub key_file: Option<PathBuf>,
    /// Count what would be exchanged, and change nothing.
    pub dry_run: bool,
}

/// A sync of one database.
struct DatabaseSync<'a> {
    database: &'a SyncedDatabase,
    files: &'a FolderFiles,
    key: Option<&'a SyncKey>,
    lock: &'a ReplicaLock,
    target: String,
    report: &'a mut SyncReport,
}

/// Error of reading one file.
enum ReadError {
    /// The file is of no use.
    Input(InvalidInput),
    /// The library cannot be written.
    Sync(SyncError),
}

impl From<InvalidInput> for ReadError {
    fn from(error: InvalidInput) -> Self {
        Self::Input(error)
    }
}

impl From<SyncError> for ReadError {
    fn from(error: SyncError) -> Self {
        Self::Sync(error)
    }
}

/// Exchanges changes with the other machines that use a folder. It can be interrupted at any point, and
/// then continues with the next call.
pub fn sync_folder(
    library: &SyncedLibrary,
    folder: &Path,
    options: &FolderOptions,
) -> Result<SyncReport, SyncError> {
    let mut lock = ReplicaLock::acquire(&library.folder)?;
    let mut files = FolderFiles::new(folder, !options.is_plain)?;
    let place = library.folder.canonicalize();
    let place = place.map_err(|it| SyncError::file("cannot find", &library.folder, it))?;
    if files.base().starts_with(&place) || place.starts_with(files.base()) {
        return Err(SyncError::OwnFolder(files.base().to_owned()));
    }
    let mut report = SyncReport::default();
    if options.dry_run {
        files.use_key(find_present_key(library, options)?.as_ref());
        for database in &library.databases {
            count(database, &files, &lock, &mut report)?;
        }
        return Ok(report);
    }
    let key = if options.is_plain { None } else { Some(find_key(library, &files, options)?) };
    files.use_key(key.as_ref());
    prepare_base(library, &files)?;
    if is_rolled_back(library, &files, (&lock, key.as_ref()))? {
        lock.renew(&library.folder)?;
    }
    files.remove_unfinished(lock.replica())?;
    for database in &library.databases {
        let target = files.target();
        let (key, report) = (key.as_ref(), &mut report);
        DatabaseSync { database, files: &files, key, lock: &lock, target, report }.run()?;
    }
    Ok(report)
}

/// Returns the key of a library. A new one is made only if the folder has no encrypted files.
fn find_key(
    library: &SyncedLibrary,
    files: &FolderFiles,
    options: &FolderOptions,
) -> Result<SyncKey, SyncError> {
    if let Some(file) = &options.key_file {
        return SyncKey::adopt(&library.folder, file);
    }
    if let Some(key) = find_present_key(library, options)? {
        return Ok(key);
    }
    for database in &library.databases {
        if !files.list(database.name())?.is_empty() {
            return Err(SyncError::NoKey(files.base().to_owned()));
        }
    }
    SyncKey::create(&library.folder)
}

/// Returns the key of a library, if it has one and uses it.
fn find_present_key(
    library: &SyncedLibrary,
    options: &FolderOptions,
) -> Result<Option<SyncKey>, SyncError> {
    if options.is_plain { Ok(None) } else { SyncKey::find(&library.folder) }
}

/// Creates the folder with the files. Fails if a folder that was used before is missing: a disk that is not
/// mounted would otherwise look like one whose files were lost.
fn prepare_base(library: &SyncedLibrary, files: &FolderFiles) -> Result<(), SyncError> {
    let is_missing = files.base().symlink_metadata().is_err();
    for database in library.databases.iter().filter(|_| is_missing) {
        if !read(database, |reader| Ok(state::used_files(reader, &files.target())?))?.is_empty() {
            return Err(SyncError::Missing(files.base().to_owned()));
        }
    }
    files.create_base()
}

/// Returns `true` if the folder has a later file of this machine that its library does not know. Earlier
/// ones were removed, and brought back by the program that copies the folder.
fn is_rolled_back(
    library: &SyncedLibrary,
    files: &FolderFiles,
    (lock, key): (&ReplicaLock, Option<&SyncKey>),
) -> Result<bool, SyncError> {
    let is_own = |key: &FileKey| key.replica == *lock.replica();
    for database in &library.databases {
        let known = known_files(database, &files.target())?;
        let Some(last) = known.keys().filter(|key| is_own(key)).map(|key| key.file).max() else {
            continue;
        };
        for file in files.list(database.name())? {
            let header = FileHeader::new(file.key.replica.clone(), database.name(), file.key.file);
            // Only this machine could write one that is complete.
            if is_own(&file.key) && file.key.file > last && is_complete(&file, key, &header) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_complete(file: &ListedFile, key: Option<&SyncKey>, header: &FileHeader) -> bool {
    let read = |input| read_file(input, key, header, |_| Ok::<_, InvalidInput>(()));
    file.open().is_ok_and(|input| read(input).is_ok())
}

fn read<T>(
    database: &SyncedDatabase,
    work: impl FnOnce(&Reader<'_>) -> Result<T, SyncError>,
) -> Result<T, SyncError> {
    database.store().read(Deadline::after(READ_TIMEOUT), work)
}

/// Returns the known files of a target with their sizes.
fn known_files(
    database: &SyncedDatabase,
    target: &str,
) -> Result<BTreeMap<FileKey, u64>, SyncError> {
    read(database, |reader| Ok(state::known_files(reader, target)?.into_iter().collect()))
}

/// Counts what a sync would exchange.
fn count(
    database: &SyncedDatabase,
    files: &FolderFiles,
    lock: &ReplicaLock,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let target = files.target();
    let known = known_files(database, &target)?;
    let is_new = |file: &ListedFile| {
        file.key.replica != *lock.replica() && known.get(&file.key) != Some(&file.bytes)
    };
    report.files_read += files.list(database.name())?.iter().filter(|it| is_new(it)).count();
    report.sent += read(database, |reader| {
        let mut changed = BTreeSet::new();
        let mut new = 0;
        for source in database.sources() {
            let Some(statements) = source.item_statements() else { continue };
            let all = named_params! { ":after": i64::MIN, ":limit": i64::MAX };
            let rows = reader.query_all(statements.sync.changed_sql, all, |row| {
                row.get::<_, Option<i64>>("number")
            })?;
            new += rows.iter().filter(|number| number.is_none()).count();
            changed.extend(rows.into_iter().flatten());
            let all = named_params! { ":limit": i64::MAX };
            changed.extend(
                reader
                    .query_all(statements.sync.gone_sql, all, |row| row.get::<_, i64>("number"))?,
            );
        }
        changed.extend(SyncedItem::unplaced_numbers(reader, &target)?);
        Ok(changed.len() + new)
    })?;
    Ok(())
}

impl DatabaseSync<'_> {
    fn run(&mut self) -> Result<(), SyncError> {
        record_local_changes(self.database, self.lock.replica(), self.report)?;
        let listed = self.files.list(self.database.name())?;
        self.read_new(&listed)?;
        self.find_lost(&listed)?;
        self.write_new(&listed)?;
        self.remove_unused(&listed)?;
        let target = &self.target;
        self.database.store().write(Durability::Full, |writer| {
            Ok(state::drop_other_keys(writer, &self.files.target_of_folder(), target)?)
        })
    }

    /// Reads the files that were not read before. Conversations that refer to unknown items are read again
    /// after all others.
    fn read_new(&mut self, listed: &[ListedFile]) -> Result<(), SyncError> {
        let known = known_files(self.database, &self.target)?;
        // A file of another machine with a known number and another size is another one: that machine
        // used the folder at another place, or was rolled back.
        let is_new = |file: &&ListedFile| match known.get(&file.key) {
            Some(bytes) => file.key.replica != *self.lock.replica() && *bytes != file.bytes,
            None => true,
        };
        let mut files: Vec<&ListedFile> = listed.iter().filter(is_new).collect();
        for missing in [MissingReferences::Wait, MissingReferences::Drop] {
            let mut waiting = Vec::new();
            for file in files {
                match self.read_file(file, missing) {
                    Ok(true) => waiting.push(file),
                    Ok(false) => {}
                    Err(ReadError::Sync(error)) => return Err(error),
                    Err(ReadError::Input(error)) => {
                        let path = file.path.display();
                        self.report.add_problem(format!("{path}: not used: {error}"));
                    }
                }
            }
            files = waiting;
        }
        Ok(())
    }

    /// Reads a file, and returns `true` if some of its items wait for others.
    fn read_file(
        &mut self,
        file: &ListedFile,
        missing: MissingReferences,
    ) -> Result<bool, ReadError> {
        let FileKey { replica, file: number } = &file.key;
        let header = FileHeader::new(replica.clone(), self.database.name(), *number);
        let place = Place { target: &self.target, replica, file: *number };
        let mut incoming = Incoming::new(self.database, self.lock.replica(), place, missing);
        let report = &mut *self.report;
        read_file(file.open()?, self.key, &header, |record| {
            incoming.push(record, report).map_err(ReadError::from)
        })?;
        incoming.flush(report)?;
        let is_waiting = !incoming.waiting.is_empty();
        if is_waiting && missing == MissingReferences::Wait {
            return Ok(true);
        }
        let is_left = is_waiting || !incoming.problems.is_empty();
        for problem in incoming.problems {
            report.add_problem(format!("{}: {problem}", file.path.display()));
        }
        if is_left {
            // It is read again, when the reason may be gone.
            return Ok(false);
        }
        let target = &self.target;
        self.database.store().write(Durability::Full, |writer| {
            state::put_file(writer, target, &file.key, file.bytes).map_err(SyncError::from)
        })?;
        report.files_read += 1;
        Ok(false)
    }

    /// Finds the files that are lost, and has their items written again. Small own files are written again
    /// as one if there are many.
    fn find_lost(&mut self, listed: &[ListedFile]) -> Result<(), SyncError> {
        let target = &self.target;
        let used = read(self.database, |reader| Ok(state::used_files(reader, target)?))?;
        let known = known_files(self.database, target)?;
        let present: BTreeMap<&FileKey, u64> =
            listed.iter().map(|file| (&file.key, file.bytes)).collect();
        let own = |key: &FileKey| key.replica == *self.lock.replica();
        let own_count = used.iter().filter(|(key, _)| own(key)).count();
        let is_lost = |(key, items): &(FileKey, usize)| match present.get(key) {
            None => true,
            Some(bytes) if own(key) && known.get(key).is_some_and(|it| it != bytes) => true,
            Some(_) => own(key) && own_count > MAX_OWN_FILES && *items < SMALL_FILE_ITEMS,
        };
        let lost: Vec<&(FileKey, usize)> = used.iter().filter(|it| is_lost(it)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        self.database.store().write(Durability::Full, |writer| {
            for (key, _) in &lost {
                state::lose_file(writer, target, key)?;
            }
            Ok(())
        })
    }

    /// Writes the items that the folder does not have.
    fn write_new(&mut self, listed: &[ListedFile]) -> Result<(), SyncError> {
        let replica = self.lock.replica();
        let known = known_files(self.database, &self.target)?;
        let own = known.keys().filter(|key| key.replica == *replica).map(|key| key.file);
        // Numbers grow with the time, so that none is used again in a copy of the folder at another place.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut number = own.max().unwrap_or(0).max(now);
        let taken: BTreeSet<&FileKey> = listed.iter().map(|file| &file.key).collect();
        let mut after = 0;
        loop {
            let batch = next_batch(self.database, &self.target, after)?;
            let Some(last) = batch.last else { return Ok(()) };
            after = last;
            if batch.records.is_empty() {
                continue;
            }
            number += 1;
            let mut key = FileKey { replica: replica.clone(), file: number };
            while taken.contains(&key) {
                number += 1;
                key.file = number;
            }
            let (target, database) = (&self.target, self.database);
            // The number is taken before there is a file, so that none has the number of another.
            let put = |bytes| {
                database.store().write(Durability::Full, |writer| {
                    state::put_file(writer, target, &key, bytes).map_err(SyncError::from)
                })
            };
            put(0)?;
            let header = FileHeader::new(replica.clone(), database.name(), number);
            let records = batch.records.iter().map(|(_, record)| record);
            let bytes = self.files.write(self.key, &header, records)?;
            put(bytes)?;
            let place = Place { target, replica, file: number };
            place_batch(database, place, &batch.records)?;
            self.report.sent += batch.records.len();
            self.report.files_written += 1;
        }
    }

    /// Removes own files without a present revision, and forgets files that are gone.
    fn remove_unused(&mut self, listed: &[ListedFile]) -> Result<(), SyncError> {
        let (target, replica) = (&self.target, self.lock.replica());
        let used = read(self.database, |reader| Ok(state::used_files(reader, target)?))?;
        let used: BTreeSet<FileKey> = used.into_iter().map(|(key, _)| key).collect();
        for file in listed.iter().filter(|file| file.key.replica == *replica) {
            if !used.contains(&file.key) {
                // One that cannot be removed stays, and does no harm.
                std::fs::remove_file(&file.path).ok();
            }
        }
        let known = known_files(self.database, target)?;
        let last = known.keys().filter(|key| key.replica == *replica).map(|key| key.file).max();
        let present: BTreeSet<&FileKey> = listed.iter().map(|file| &file.key).collect();
        let is_gone = |key: &&FileKey| {
            let is_last = key.replica == *replica && Some(key.file) == last;
            !present.contains(key) && !used.contains(*key) && !is_last
        };
        let gone: Vec<&FileKey> = known.keys().filter(is_gone).collect();
        if gone.is_empty() {
            return Ok(());
        }
        self.database.store().write(Durability::Full, |writer| {
            for key in &gone {
                state::drop_file(writer, target, key)?;
            }
            Ok(())
        })
    }
}
