//! A database file: where it is, whether it is open, who may touch it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::{
    Database, Durability, Memory, Reader, StoreError, Table, Unwritten, Writer, beside,
    memory::Indexes, waits::Waits, writer::Written,
};
use crate::model::Deadline;

/// How long a statement waits for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end of a program waits for it.
const MOMENT: Duration = Duration::from_secs(1);
/// Readers that one store keeps at most.
const READERS: u32 = 4;
/// Pages that a connection keeps in memory at most, in KiB (negative, as the
/// pragma wants it). Only what is read is kept.
const CACHE: i64 = -8_192;
/// What SQLite may take in this whole process, in bytes, before a connection that wants
/// another page gives up one of its own: sixteen full caches. Many users have many
/// connections, each with a cache that fills; the system keeps the same pages once.
const CACHES: i64 = 128 << 20;
/// How long a reader that nobody uses is kept.
const IDLE: Duration = Duration::from_mins(1);

/// One database file: of one user, or of the server.
///
/// Making one touches nothing: the file is opened, and if need be created and
/// migrated, when it is first read or written.
#[derive(Debug)]
pub struct Store {
    database: Database,
    path: PathBuf,
    open: Mutex<Option<Arc<Open>>>,
    waits: Waits,
}

#[derive(Debug)]
pub(super) struct Open {
    readers: r2d2::Pool<SqliteConnectionManager>,
    pub(super) writer: Mutex<Connection>,
    indexes: Indexes,
}

impl Store {
    /// The database in this folder.
    pub fn new(database: Database, folder: &Path) -> Self {
        Self::at(database, folder.join(database.file_name()))
    }

    /// The database in this file, for a kind of which there may be many.
    pub fn at(database: Database, path: PathBuf) -> Self {
        Self { database, path, open: Mutex::new(None), waits: Waits::default() }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much room it takes on the disk, in bytes, with what was written lately.
    pub fn size_bytes(&self) -> u64 {
        let log = beside(&self.path, "-wal");
        let size = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
        size(&self.path) + size(&log)
    }

    /// Reads from one moment's state of the database.
    ///
    /// Statements that are still running at the deadline are stopped; what would
    /// begin after it is not begun.
    pub fn read<T, E: From<StoreError>>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        if deadline.is_over() {
            return Err(StoreError::TimeIsUp.into());
        }
        let open = self.open()?;
        let connection = self.reader(&open)?;
        Reader::run(&connection, &open.indexes, deadline, work)
    }

    /// A reader that nobody uses; where there is none, how long it is waited for is
    /// counted.
    fn reader(
        &self,
        open: &Open,
    ) -> Result<r2d2::PooledConnection<SqliteConnectionManager>, StoreError> {
        if let Some(reader) = open.readers.try_get() {
            return Ok(reader);
        }
        let begun = Instant::now();
        let reader = open.readers.get();
        self.waits.add(begun.elapsed());
        Ok(reader?)
    }

    /// How often somebody had to wait for a reader, and how long in all. A reader that
    /// has to be opened first is waited for as well.
    pub fn waits(&self) -> (u64, Duration) {
        self.waits.sum()
    }

    /// Whether the file is open, or is being opened.
    pub fn is_open(&self) -> bool {
        match self.open.try_lock() {
            Ok(open) => open.is_some(),
            Err(TryLockError::Poisoned(open)) => open.into_inner().is_some(),
            Err(TryLockError::WouldBlock) => true,
        }
    }

    /// Writes in one transaction: everything, or nothing at all.
    pub fn write<T, E: From<StoreError>>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.open()?;
        let mut connection = lock(&open.writer);
        connection
            .pragma_update(None, "synchronous", durability.pragma())
            .map_err(|error| StoreError::about(&self.path, error))?;
        let transaction = begin(&mut connection)?;
        let writer = Writer::new(&transaction);
        let answer = work(&writer)?;
        let written = writer.finish()?;
        transaction.commit().map_err(|error| StoreError::about(&self.path, error))?;
        for Written { table, before, after, rows } in written {
            open.indexes.follow(table, &before, after, &rows);
        }
        Ok(answer)
    }

    /// Writes as [`write`](Self::write) does, and takes all of it back.
    pub fn rehearse<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.open()?;
        let mut connection = lock(&open.writer);
        let transaction = begin(&mut connection)?;
        let answer = work(&Writer::new(&transaction));
        transaction.rollback().map_err(StoreError::from)?;
        answer
    }

    /// Moves what was written lately into the file itself, so that readers need
    /// not look in two places; for the end of an import.
    pub fn settle(&self) -> Result<(), StoreError> {
        let open = self.open()?;
        let connection = lock(&open.writer);
        // Readers may hold it up; then it happens at the next occasion.
        let settled = connection.pragma(None, "wal_checkpoint", "truncate", |_| Ok(()));
        settled.map_err(|error| StoreError::about(&self.path, error))
    }

    /// Closes the file as a program that ends should: what was written lately is moved
    /// into it, unless another process is reading that, which then does so itself.
    pub fn finish(&self) -> Result<(), StoreError> {
        let Some(open) = lock(&self.open).take() else { return Ok(()) };
        let connection = lock(&open.writer);
        let finished = connection
            .busy_timeout(MOMENT)
            .and_then(|()| connection.pragma(None, "wal_checkpoint", "truncate", |_| Ok(())));
        finished.map_err(|error| StoreError::about(&self.path, error))
    }

    /// What is remembered of a full-text table, if the file is open.
    pub(crate) fn memory(&self, table: &Table) -> Option<Arc<Memory>> {
        lock(&self.open).as_ref()?.indexes.known(table)
    }

    /// Closes the file; the next use opens it again.
    pub fn close(&self) {
        drop(lock(&self.open).take());
    }

    pub(super) fn open(&self) -> Result<Arc<Open>, StoreError> {
        let mut open = lock(&self.open);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let unwritten = Unwritten::of_read_only_disk(&self.path);
        let opened = Arc::new(self.connect(unwritten)?);
        // Nobody is told when a disk may be written again.
        if unwritten.is_none() {
            *open = Some(Arc::clone(&opened));
        }
        Ok(opened)
    }

    fn connect(&self, unwritten: Option<Unwritten>) -> Result<Open, StoreError> {
        if let Some(folder) = self.path.parent() {
            make_private_folder(folder)?;
        }
        let failed = |source| self.cannot_open(source);
        let (mut writer, manager) = match unwritten {
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let manager = SqliteConnectionManager::file(&self.path).with_flags(flags);
                (connect(&self.path).map_err(failed)?, manager)
            }
            Some(way) => {
                let mut connection = way.open(&self.path).map_err(failed)?;
                prepare(&mut connection).map_err(failed)?;
                let manager = SqliteConnectionManager::file(way.uri(&self.path));
                (connection, manager.with_flags(Unwritten::FLAGS))
            }
        };
        self.migrate(&mut writer)?;
        let manager = manager.with_init(|connection| {
            prepare(connection)?;
            connection.pragma_update(None, "query_only", true)
        });
        let readers = r2d2::Pool::builder()
            .max_size(READERS)
            .min_idle(Some(0))
            .idle_timeout(Some(IDLE))
            .connection_timeout(BUSY_TIMEOUT)
            .test_on_check_out(false)
            .thread_pool(pool_threads())
            .build_unchecked(manager);
        Ok(Open { readers, writer: Mutex::new(writer), indexes: Indexes::default() })
    }

    /// Runs the migrations that the file has not seen yet.
    fn migrate(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let failed = |source| self.cannot_open(source);
        let migrations = self.database.migrations();
        let done = self.recognise(connection)?;
        if done == migrations.len() {
            return Ok(());
        }
        // Cannot be changed inside a transaction, and lasts: it is in the file.
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        let newest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have been faster.
        let done = schema(&transaction).map_err(failed)?;
        for migration in migrations.iter().skip(done) {
            transaction.execute_batch(migration).map_err(failed)?;
        }
        transaction
            .pragma_update(None, "application_id", Database::APPLICATION_ID)
            .and_then(|()| transaction.pragma_update(None, "user_version", newest))
            .and_then(|()| transaction.commit())
            .map_err(failed)
    }

    fn cannot_open(&self, source: rusqlite::Error) -> StoreError {
        match StoreError::about(&self.path, source) {
            StoreError::Statement(source) => StoreError::Open { path: self.path.clone(), source },
            known => known,
        }
    }

    /// How many migrations the file has seen; refuses files that are not ours.
    fn recognise(&self, connection: &Connection) -> Result<usize, StoreError> {
        let failed = |source| self.cannot_open(source);
        let application: i32 = connection
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .map_err(failed)?;
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        if application != Database::APPLICATION_ID && tables > 0 {
            return Err(StoreError::Foreign { path: self.path.clone() });
        }
        let (found, known) =
            (schema(connection).map_err(failed)?, self.database.migrations().len());
        if found > known {
            return Err(StoreError::Newer { path: self.path.clone(), found, known });
        }
        Ok(found)
    }
}

/// A folder that only its owner can look into.
pub fn make_private_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    let failed = |source| StoreError::Folder { path: folder.to_owned(), source };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(failed)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that opens a database")]
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    prepare(&mut connection)?;
    Ok(connection)
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    connection.pragma_update(None, "soft_heap_limit", CACHES)?;
    connection.set_prepared_statement_cache_capacity(64);
    vademecum_fts5::register(connection)
}

pub(super) fn begin(connection: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    let path = connection.path().map(PathBuf::from).unwrap_or_default();
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    begun.map_err(|error| StoreError::about(&path, error))
}

pub(super) fn schema(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(0))
}

/// The few threads that open and close the readers of all stores.
fn pool_threads() -> Arc<scheduled_thread_pool::ScheduledThreadPool> {
    static THREADS: std::sync::OnceLock<Arc<scheduled_thread_pool::ScheduledThreadPool>> =
        std::sync::OnceLock::new();
    Arc::clone(THREADS.get_or_init(|| {
        let threads = scheduled_thread_pool::ScheduledThreadPool::builder()
            .num_threads(2)
            .thread_name_pattern("store-{}");
        Arc::new(threads.build())
    }))
}

/// A lock whose owner panicked is still a lock: SQLite rolled its work back.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cancel;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_secs(5))
    }

    #[test]
    fn all_caches_together_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let limits = store.read(soon(), |reader| {
            reader.all("PRAGMA soft_heap_limit", &[], |row| row.get::<_, i64>(0))
        });
        assert_eq!(limits.unwrap_or_else(|error: StoreError| panic!("{error}")), [CACHES]);
    }

    #[test]
    fn a_store_touches_nothing_until_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("users/ada");
        let store = Store::new(Database::Prompts, &user);
        assert!(!user.exists());
        store.read(soon(), |_| Ok::<_, StoreError>(())).unwrap();
        assert!(store.path().exists());
    }

    #[test]
    fn every_database_is_made_whole_and_found_healthy() {
        let folder = tempfile::tempdir().unwrap();
        for database in Database::ALL.into_iter().chain([
            Database::Imports,
            Database::Index,
            Database::Collection,
            Database::Embeddings,
            Database::Server,
        ]) {
            let store = Store::new(database, folder.path());
            assert_eq!(store.check().unwrap().problems, []);
            store.close();
            assert_eq!(store.check().unwrap().schema, database.migrations().len());
        }
    }

    #[test]
    fn a_reader_is_waited_for_only_where_none_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        assert!(!store.is_open() && store.waits() == (0, Duration::ZERO));
        let read = || store.read(soon(), |_| Ok::<_, StoreError>(())).unwrap();
        read();
        read();
        assert!(store.is_open());
        assert_eq!(store.waits().0, 1, "the second takes the reader that the first has opened");
        let both = store.read(soon(), |_| {
            read();
            Ok::<_, StoreError>(())
        });
        both.unwrap();
        assert_eq!(store.waits().0, 2);
    }

    #[test]
    fn a_reader_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let answer = store.read(soon(), |reader| {
            reader.execute_for_test("DELETE FROM Prompts").map_err(StoreError::from)
        });
        assert!(answer.unwrap_err().to_string().contains("readonly"));
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES ('a', '', '')";
        let failed = store.write(Durability::Full, |writer| {
            writer.run(insert, &[])?;
            Err::<(), _>(StoreError::TimeIsUp)
        });
        assert!(failed.is_err());
        let count: i64 = store
            .read(soon(), |reader| {
                reader.one("SELECT count(*) AS n FROM keywords", &[], |row| row.get("n"))
            })
            .unwrap();
        assert_eq!(count, 0);
    }

    #[test]
    fn a_store_that_is_finished_leaves_nothing_beside_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        store.finish().unwrap();
        assert!(!store.path().exists(), "what was never opened is not made");
        store.write(Durability::Full, |_| Ok::<_, StoreError>(())).unwrap();
        store.finish().unwrap();
        let log = beside(store.path(), "-wal");
        assert!(fs::metadata(log).map_or(0, |about| about.len()) == 0);
        store.write(Durability::Full, |_| Ok::<_, StoreError>(())).unwrap();
    }

    #[test]
    fn a_write_without_room_changes_nothing_and_the_next_one_works() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let pages = |sql: &'static str| {
            let set = store.write(Durability::Full, |writer| writer.all(sql, &[], |_| Ok(())));
            set.unwrap_or_else(|error: StoreError| panic!("{error}"));
        };
        // It is never less than there are.
        pages("PRAGMA max_page_count = 1");
        let insert = "INSERT INTO keywords (keyword, created_at, last_modified)
                      VALUES (hex(zeroblob(100000)), '', '')";
        let written = store.write(Durability::Full, |writer| writer.run(insert, &[]));
        assert!(matches!(&written, Err(StoreError::Full { .. })), "{written:?}");
        pages("PRAGMA max_page_count = 1000000");
        store.write(Durability::Full, |writer| writer.run(insert, &[])).unwrap();
        assert_eq!(store.check().unwrap().problems, []);
    }

    #[test]
    fn a_statement_stops_at_its_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                       SELECT count(*) AS n FROM n";
        let answer: Result<i64, StoreError> = store
            .read(Deadline::after(Duration::from_millis(20)), |reader| {
                reader.one(endless, &[], |row| row.get("n"))
            });
        assert!(matches!(answer, Err(StoreError::TimeIsUp)));
    }

    #[test]
    fn a_statement_stops_as_soon_as_it_is_not_wanted_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                       SELECT i FROM n";
        let cancel = Cancel::default();
        let deadline = Deadline::after(Duration::from_hours(1)).unless(&cancel);
        let answer: Result<(), StoreError> = store.read(deadline.clone(), |reader| {
            reader.each(endless, &[], |_| {
                cancel.cancel();
                Ok(())
            })
        });
        assert!(matches!(answer, Err(StoreError::TimeIsUp)) && deadline.is_cancelled());
    }

    #[test]
    fn what_is_not_wanted_any_more_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let cancel = Cancel::default();
        cancel.cancel();
        let mut begun = false;
        let answer: Result<(), StoreError> = store.read(soon().unless(&cancel), |_| {
            begun = true;
            Ok(())
        });
        assert!(matches!(answer, Err(StoreError::TimeIsUp)) && !begun && !store.path().exists());
    }

    #[test]
    fn what_was_written_settles_in_the_file_itself() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES ('a', '', '')";
        store.write(Durability::Bulk, |writer| writer.run(insert, &[])).unwrap();
        let log = folder.path().join("chacha.db-wal");
        assert!(fs::metadata(&log).unwrap().len() > 0);
        store.settle().unwrap();
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    }

    /// A file of schema 1 with conversations: whole, without a title, without
    /// messages, without both, and deleted.
    fn of_schema_one(path: &Path) {
        let file = connect(path).unwrap();
        file.execute_batch(Database::Chacha.migrations()[0]).unwrap();
        file.execute_batch(
            "INSERT INTO conversations (row, id, root_id, title, created_at, last_modified, deleted)
             VALUES (1, 'a', 'a', 'Bread', '', '', 0), (2, 'b', 'b', NULL, '', '', 0),
                    (3, 'c', 'c', 'Oven', '', '', 0), (4, 'd', 'd', NULL, '', '', 0),
                    (5, 'e', 'e', 'Gone', '', '', 1);
             INSERT INTO messages (
                 row, id, conversation_id, sender, content, timestamp, last_modified, deleted
             )
             VALUES (1, 'm1', 'a', 'x', 'rye', '2026-01-03', '', 0),
                    (2, 'm2', 'a', 'x', 'oat', '2026-01-02', '', 0),
                    (3, 'm3', 'a', 'x', 'bran', '2026-01-01', '', 1),
                    (4, 'm4', 'a', 'x', 'malt', '2026-01-02', '', 0),
                    (5, 'm5', 'b', 'x', 'spelt', '', '', 0),
                    (6, 'm6', 'e', 'x', 'wheat', '', '', 0);
             INSERT INTO chat_fts (rowid, title, content)
             VALUES (2, 'bread', ''), (3, '', 'rye'), (5, '', 'oat'), (6, 'oven', ''),
                    (9, '', 'malt'), (11, '', 'spelt');",
        )
        .unwrap();
        file.pragma_update(None, "application_id", Database::APPLICATION_ID).unwrap();
        file.pragma_update(None, "user_version", 1).unwrap();
    }

    #[test]
    fn conversations_of_schema_one_are_indexed_with_their_opening_messages() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        of_schema_one(store.path());
        assert_eq!(store.check().unwrap().problems, []);
        let file = connect(store.path()).unwrap();
        file.execute_batch(
            "CREATE VIRTUAL TABLE temp.word USING fts5vocab('main', 'chat_fts', 'instance')",
        )
        .unwrap();
        let sql = "SELECT doc || ' ' || col || ' ' || term FROM temp.word
                   WHERE term NOT LIKE '=%' ORDER BY doc, col DESC";
        let mut statement = file.prepare(sql).unwrap();
        let words = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(
            words.map(Result::unwrap).collect::<Vec<_>>(),
            [
                "2 title bread",
                "2 content oat",
                "3 content rye",
                "4 content spelt",
                "6 title oven",
                "9 content malt",
            ]
        );
        let count = "SELECT count(*) FROM chat_fts_docsize";
        let rows: i64 = file.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 5);
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("media.db");
        connect(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
        let before = fs::read(&path).unwrap();
        let error = Store::new(Database::Media, folder.path()).check().unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_file_from_a_newer_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Media, folder.path());
        store.check().unwrap();
        store.close();
        connect(store.path()).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(store.check().unwrap_err(), StoreError::Newer { found: 99, .. }));
    }
}
