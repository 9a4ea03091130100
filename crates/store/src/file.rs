//! A database file: path, open connections, migrations and transactions.

use std::{
    fs, iter,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use vademecum_model::{Deadline, FtsTable, ItemAccess, JournalLimits};

use super::{
    CopyState, Database, Durability, FollowedFile, Follower, Head, IndexCache, ReadOnlyFile,
    Reader, StoreError, Writer,
    access::restrict_connection,
    archive_state::{forget_archive_state, write_archive_state},
    compressed_text::register_chunk_text,
    digested_tables::{attach_digest_triggers, set_digest_writing},
    file_name::register_file_name,
    filter_cache::FilterCache,
    fts_version::create_fts_tables,
    index_cache::IndexCaches,
    journal_mode::enable_wal,
    pool_wait::{PoolWaits, connection_pool_threads},
    private_files::{create_private_folder, prepare_database_file},
    reader::Visibility,
    row_digest::register_row_digest,
    row_filter::register_connection_number,
    sidecar_path,
    statement_trace::attach_statement_trace,
    verification_state::BackgroundVerification,
    writer::TableChanges,
};

/// Maximum time a statement waits for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time to wait for a lock when the program exits.
const EXIT_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of reader connections per store.
const MAX_READERS: u32 = 4;
/// Page cache limit per connection, in KiB; negative, as the pragma requires. Only pages that are
/// read are cached.
pub(super) const CONNECTION_CACHE_KIB: i64 = -8_192;
/// Heap limit of SQLite for the whole process, in bytes. Above it, a connection that needs another
/// page evicts one of its own. The limit equals sixteen full caches, because many users have many
/// connections; the operating system caches the same pages once.
const PROCESS_HEAP_LIMIT_BYTES: i64 = 128 << 20;
/// Time after which an unused reader connection is closed.
const READER_IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// One database file, of a user or of the server.
///
/// Creating a `Store` does not touch the file. The file is opened on the first read or write, and
/// created and migrated if necessary.
#[derive(Debug)]
pub struct Store {
    database: Database,
    path: PathBuf,
    /// Items that readers may see; `None` if all are visible.
    access: Option<Arc<ItemAccess>>,
    pub(super) journal_limits: JournalLimits,
    /// The archive that keeps the rows, if there is one.
    pub(crate) follower: Option<Arc<dyn Follower>>,
    open: Mutex<Option<Arc<OpenDatabase>>>,
    pool_waits: PoolWaits,
    pub(super) background: BackgroundVerification,
}

#[derive(Debug)]
pub(super) struct OpenDatabase {
    readers: r2d2::Pool<SqliteConnectionManager>,
    pub(super) writer: Mutex<Connection>,
    /// State of following, if the file follows an archive.
    pub(crate) followed: Option<Box<dyn FollowedFile>>,
    indexes: IndexCaches,
    filters: FilterCache,
}

impl OpenDatabase {
    /// Carries the caches over a transaction.
    pub(super) fn advance_caches(&self, written: Vec<TableChanges>) {
        for TableChanges { table, before, after, rows } in written {
            self.indexes.advance_state(table, &before, after, &rows);
        }
    }
}

impl Store {
    /// Creates a store for the database in a folder, with the standard file name.
    pub fn new(database: Database, folder: &Path) -> Self {
        Self::with_path(database, folder.join(database.file_name()))
    }

    /// Creates a store with an explicit path, for database kinds with several files.
    pub fn with_path(database: Database, path: PathBuf) -> Self {
        let (open, pool_waits) = (Mutex::new(None), PoolWaits::default());
        let journal_limits = JournalLimits::default();
        let (access, follower, background) = (None, None, BackgroundVerification::default());
        Self { database, path, access, journal_limits, follower, open, pool_waits, background }
    }

    /// Has the store follow an archive: reads see what other servers wrote, and writes are stored
    /// there before they are answered.
    #[must_use]
    pub fn following(self, follower: Arc<dyn Follower>) -> Self {
        Self { follower: Some(follower), ..self }
    }

    /// Sets the limits of the journal.
    #[must_use]
    pub fn with_journal_limits(self, journal_limits: JournalLimits) -> Self {
        Self { journal_limits, ..self }
    }

    /// Returns a store for the same file whose readers see only the items that `access` permits.
    /// Writes are not restricted.
    #[must_use]
    pub fn restricted_to(&self, access: Arc<ItemAccess>) -> Self {
        let (access, follower) = (Some(access), self.follower.clone());
        Self { access, follower, ..Self::with_path(self.database, self.path.clone()) }
    }

    /// Returns the kind of database.
    pub fn database(&self) -> Database {
        self.database
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the store follows an archive, so that its writes wait for it.
    pub fn follows_archive(&self) -> bool {
        self.follower.is_some()
    }

    /// Returns whether there may be rows: the file exists, or follows an archive that may have them. A
    /// read of a store without rows would create the file.
    pub fn may_have_rows(&self) -> bool {
        self.follower.is_some() || self.path.exists()
    }

    /// Returns the size on disk in bytes, including the write-ahead log.
    pub fn size_bytes(&self) -> u64 {
        let log = sidecar_path(&self.path, "-wal");
        let size = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
        size(&self.path) + size(&log)
    }

    /// Reads from a consistent snapshot of the database.
    ///
    /// Running statements are interrupted at the deadline, and no statement starts after it.
    pub fn read<T, E: From<StoreError>>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        if deadline.has_passed() {
            return Err(StoreError::DeadlineExceeded.into());
        }
        let open = self.open()?;
        if self.catch_up(&open, deadline.began_at())? == CopyState::Unconfirmed {
            deadline.mark_stale();
        }
        let connection = self.acquire_reader(&open)?;
        let visibility = match self.access {
            None => Visibility::All,
            Some(_) => Visibility::Restricted,
        };
        let caches = (&open.indexes, &open.filters);
        Reader::run_in_snapshot(&connection, caches, visibility, deadline, work)
    }

    /// Returns an idle reader. If none is idle, the waiting time is recorded.
    fn acquire_reader(
        &self,
        open: &OpenDatabase,
    ) -> Result<r2d2::PooledConnection<SqliteConnectionManager>, StoreError> {
        if let Some(reader) = open.readers.try_get() {
            return Ok(reader);
        }
        let begun = Instant::now();
        let reader = open.readers.get();
        self.pool_waits.record(begun.elapsed());
        Ok(reader?)
    }

    /// Returns how often a read waited for a connection, and the total waiting time. Opening a new
    /// connection counts as waiting.
    pub fn waits(&self) -> (u64, Duration) {
        self.pool_waits.totals()
    }

    /// Returns whether the file is open or being opened.
    pub fn is_open(&self) -> bool {
        match self.open.try_lock() {
            Ok(open) => open.is_some(),
            Err(TryLockError::Poisoned(open)) => open.into_inner().is_some(),
            Err(TryLockError::WouldBlock) => true,
        }
    }

    /// Writes in one transaction: all changes are committed, or none. `work` is repeated if another
    /// server wrote to the archive first.
    pub fn write<T, E: From<StoreError>>(
        &self,
        durability: Durability,
        mut work: impl FnMut(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.open()?;
        if let Some(file) = &open.followed {
            return self.write_to_archive(&open, &**file, work);
        }
        let mut connection = lock(&open.writer);
        connection
            .pragma_update(None, "synchronous", durability.pragma())
            .map_err(|error| StoreError::from_file(&self.path, error))?;
        let transaction = begin_immediate(&mut connection)?;
        set_digest_writing(&transaction, self.database, true)?;
        let writer = Writer::new(&transaction, self.journal_limits);
        let answer = work(&writer)?;
        let written = writer.flush_and_take_changes()?;
        set_digest_writing(&transaction, self.database, false)?;
        if self.database.can_follow() {
            forget_archive_state(&transaction).map_err(StoreError::from)?;
        }
        transaction.commit().map_err(|error| StoreError::from_file(&self.path, error))?;
        open.advance_caches(written);
        Ok(answer)
    }

    /// Runs the writes like [`write`](Self::write), then rolls them back.
    pub fn dry_run<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.open()?;
        self.catch_up(&open, Instant::now())?;
        let mut connection = lock(&open.writer);
        let transaction = begin_immediate(&mut connection)?;
        set_digest_writing(&transaction, self.database, true)?;
        let answer = work(&Writer::new(&transaction, self.journal_limits));
        transaction.rollback().map_err(StoreError::from)?;
        answer
    }

    /// Moves the write-ahead log into the database file, so that readers need only one file. Called
    /// after an import.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let open = self.open()?;
        let connection = lock(&open.writer);
        // Readers can delay the checkpoint; it is then completed later.
        let settled = connection.pragma(None, "wal_checkpoint", "truncate", |_| Ok(()));
        settled.map_err(|error| StoreError::from_file(&self.path, error))
    }

    /// Closes the file at program exit and moves the write-ahead log into it. If another process is
    /// reading the log, that process moves it later.
    pub fn checkpoint_and_close(&self) -> Result<(), StoreError> {
        let Some(open) = lock(&self.open).take() else { return Ok(()) };
        let connection = lock(&open.writer);
        let finished = connection
            .busy_timeout(EXIT_LOCK_TIMEOUT)
            .and_then(|()| connection.pragma(None, "wal_checkpoint", "truncate", |_| Ok(())));
        finished.map_err(|error| StoreError::from_file(&self.path, error))
    }

    /// Returns the cache of a full-text table, if the file is open. A restricted store returns `None`,
    /// because the cache includes hidden rows.
    pub fn index_cache(&self, table: &FtsTable) -> Option<Arc<IndexCache>> {
        if self.access.is_some() {
            return None;
        }
        lock(&self.open).as_ref()?.indexes.find_cache(table)
    }

    /// Removes the caches of searches that were not used for this time, and the page caches of
    /// connections that are not in use. What is needed later is read from the file again.
    pub fn remove_unused_caches(&self, min_age: Duration) {
        let Some(open) = lock(&self.open).clone() else { return };
        open.indexes.remove_unused(min_age);
        open.filters.remove_unused(min_age);
        let unused_readers: Vec<_> = iter::from_fn(|| open.readers.try_get()).collect();
        for reader in &unused_readers {
            release_pages(reader);
        }
        if let Ok(writer) = open.writer.try_lock() {
            release_pages(&writer);
        }
    }

    /// Closes the file. The next use reopens it.
    pub fn close(&self) {
        drop(lock(&self.open).take());
    }

    pub(super) fn open(&self) -> Result<Arc<OpenDatabase>, StoreError> {
        let mut open = lock(&self.open);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let unwritten = ReadOnlyFile::detect_read_only_disk(&self.path);
        let opened = Arc::new(self.open_connections(unwritten)?);
        // There is no notification when a disk becomes writable again, so the file is reopened for
        // every use.
        if unwritten.is_none() {
            *open = Some(Arc::clone(&opened));
        }
        Ok(opened)
    }

    fn open_connections(
        &self,
        unwritten: Option<ReadOnlyFile>,
    ) -> Result<OpenDatabase, StoreError> {
        if let Some(folder) = self.path.parent() {
            create_private_folder(folder)?;
        }
        let failed = |source| self.open_error(source);
        let (mut writer, manager) = match unwritten {
            None => {
                prepare_database_file(&self.path);
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let manager = SqliteConnectionManager::file(&self.path).with_flags(flags);
                (open_connection(&self.path).map_err(failed)?, manager)
            }
            Some(way) => {
                let mut connection = way.open(&self.path).map_err(failed)?;
                configure_connection(&mut connection).map_err(failed)?;
                let manager = SqliteConnectionManager::file(way.to_sqlite_uri(&self.path));
                (connection, manager.with_flags(ReadOnlyFile::FLAGS))
            }
        };
        let is_new = self.migrate(&mut writer)?;
        if unwritten.is_none() {
            attach_digest_triggers(&writer, self.database).map_err(failed)?;
        }
        let follower = self.follower.as_ref().filter(|_| unwritten.is_none());
        let followed = follower.map(|follower| follower.attach(&writer, is_new)).transpose()?;
        let (database, access) = (self.database, self.access.clone());
        let manager = manager.with_init(move |connection| {
            configure_connection(connection)?;
            if let Some(access) = &access {
                restrict_connection(connection, database, access)?;
            }
            attach_statement_trace(connection);
            connection.pragma_update(None, "query_only", true)
        });
        let readers = r2d2::Pool::builder()
            .max_size(MAX_READERS)
            .min_idle(Some(0))
            .idle_timeout(Some(READER_IDLE_TIMEOUT))
            .connection_timeout(BUSY_TIMEOUT)
            .test_on_check_out(false)
            .thread_pool(connection_pool_threads())
            .build_unchecked(manager);
        Ok(OpenDatabase {
            readers,
            writer: Mutex::new(writer),
            followed,
            indexes: IndexCaches::default(),
            filters: FilterCache::default(),
        })
    }

    /// Runs the pending migrations. Returns whether the file is new.
    fn migrate(&self, connection: &mut Connection) -> Result<bool, StoreError> {
        let failed = |source| self.open_error(source);
        let migrations = self.database.migrations();
        let done = self.detect_schema(connection)?;
        if done == migrations.len() {
            return Ok(false);
        }
        enable_wal(connection, BUSY_TIMEOUT).map_err(failed)?;
        let newest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have migrated the file in the meantime.
        let done = read_schema_version(&transaction).map_err(failed)?;
        for migration in migrations.iter().skip(done) {
            transaction.execute_batch(migration).map_err(failed)?;
        }
        if done == 0 {
            create_fts_tables(&transaction, self.database).map_err(failed)?;
        }
        if done == 0 && self.database.can_follow() {
            // In this transaction, so that a crash leaves no file that seems to have rows of its own.
            // Without an archive as well, because `check` may be the first to open an empty file.
            write_archive_state(&transaction, Head::default()).map_err(failed)?;
        }
        transaction
            .pragma_update(None, "application_id", Database::APPLICATION_ID)
            .and_then(|()| transaction.pragma_update(None, "user_version", newest))
            .and_then(|()| transaction.commit())
            .map_err(failed)?;
        Ok(done == 0)
    }

    fn open_error(&self, source: rusqlite::Error) -> StoreError {
        match StoreError::from_file(&self.path, source) {
            StoreError::Statement(source) => StoreError::Open { path: self.path.clone(), source },
            known => known,
        }
    }

    /// Returns the number of migrations applied to the file. Returns an error if the file is not a
    /// Vademecum database or is newer than this program.
    pub(super) fn detect_schema(&self, connection: &Connection) -> Result<usize, StoreError> {
        let failed = |source| self.open_error(source);
        // Before the application id: another process that creates the file commits both at once.
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        let application: i32 = connection
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .map_err(failed)?;
        if application != Database::APPLICATION_ID && tables > 0 {
            return Err(StoreError::Foreign { path: self.path.clone() });
        }
        let (found, known) =
            (read_schema_version(connection).map_err(failed)?, self.database.migrations().len());
        if found > known {
            return Err(StoreError::Newer { path: self.path.clone(), found, known });
        }
        Ok(found)
    }
}

/// Opens a file whose statements fail at once if another connection has it open. Without other users,
/// the write-ahead log needs no shared memory, which is decided when the file is first read.
#[expect(clippy::disallowed_methods, reason = "this is the one place that opens a database")]
pub(super) fn open_exclusively(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    Ok(connection)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that opens a database")]
pub(super) fn open_connection(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    configure_connection(&mut connection)?;
    Ok(connection)
}

/// Opens a database without a name, which SQLite removes.
pub fn open_temporary() -> Result<Connection, StoreError> {
    let connection = open_connection("".as_ref())?;
    connection.pragma_update(None, "foreign_keys", false)?;
    Ok(connection)
}

pub(super) fn configure_connection(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "cache_size", CONNECTION_CACHE_KIB)?;
    connection.pragma_update(None, "soft_heap_limit", PROCESS_HEAP_LIMIT_BYTES)?;
    connection.set_prepared_statement_cache_capacity(64);
    register_chunk_text(connection)?;
    register_connection_number(connection)?;
    register_row_digest(connection)?;
    register_file_name(connection)?;
    vademecum_fts5::register(connection)
}

/// Frees the pages that a connection has cached and that no statement needs.
fn release_pages(connection: &Connection) {
    // If it fails, the pages stay cached.
    drop(connection.execute_batch("PRAGMA shrink_memory"));
}

/// Begins a transaction that holds the write lock from its beginning.
pub fn begin_immediate(connection: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    let path = connection.path().map(PathBuf::from).unwrap_or_default();
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    begun.map_err(|error| StoreError::from_file(&path, error))
}

pub(super) fn read_schema_version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(0))
}

/// A poisoned lock can be used: SQLite has rolled the transaction back.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
    use vademecum_model::CancelFlag;

    fn five_second_deadline() -> Deadline {
        Deadline::after(Duration::from_secs(5))
    }

    #[test]
    fn store_bounds_total_cache_memory() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let limits = store.read(five_second_deadline(), |reader| {
            reader.query_all("PRAGMA soft_heap_limit", &[], |row| row.get::<_, i64>(0))
        });
        assert_eq!(
            limits.unwrap_or_else(|error: StoreError| panic!("{error}")),
            [PROCESS_HEAP_LIMIT_BYTES]
        );
    }

    #[test]
    fn store_creates_no_file_until_first_use() {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("users/ada");
        let store = Store::new(Database::Prompts, &user);
        assert!(!user.exists());
        store.read(five_second_deadline(), |_| Ok::<_, StoreError>(())).unwrap();
        assert!(store.path().exists());
    }

    #[test]
    fn new_databases_pass_integrity_check() {
        let folder = tempfile::tempdir().unwrap();
        for database in Database::ALL.into_iter().chain([
            Database::Imports,
            Database::Index,
            Database::Collection,
            Database::Embeddings,
            Database::Server,
            Database::Audit,
        ]) {
            let store = Store::new(database, folder.path());
            assert_eq!(store.check_integrity().unwrap().problems, []);
            store.close();
            assert_eq!(store.check_integrity().unwrap().schema, database.migrations().len());
        }
    }

    #[test]
    fn file_created_meanwhile_is_not_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let [here, elsewhere] = [0, 1].map(|_| Store::new(Database::Index, folder.path()));
        let connection = open_connection(here.path()).unwrap();
        let mut other = Some(elsewhere);
        // SQLite calls this before it runs the statement that counts the tables.
        let create_file = move |context: AuthContext<'_>| {
            if let AuthAction::Select = context.action
                && let Some(other) = other.take()
            {
                other.check_integrity().unwrap();
            }
            Authorization::Allow
        };
        connection.authorizer(Some(create_file)).unwrap();
        assert_eq!(here.detect_schema(&connection).unwrap(), Database::Index.migrations().len());
    }

    #[test]
    fn reader_waits_only_when_pool_is_exhausted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        assert!(!store.is_open() && store.waits() == (0, Duration::ZERO));
        let read = || store.read(five_second_deadline(), |_| Ok::<_, StoreError>(())).unwrap();
        read();
        read();
        assert!(store.is_open());
        assert_eq!(store.waits().0, 1, "the second takes the reader that the first has opened");
        let both = store.read(five_second_deadline(), |_| {
            read();
            Ok::<_, StoreError>(())
        });
        both.unwrap();
        assert_eq!(store.waits().0, 2);
    }

    #[test]
    fn reader_rejects_writes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let answer = store.read(five_second_deadline(), |reader| {
            reader.execute_for_test("DELETE FROM Prompts").map_err(StoreError::from)
        });
        assert!(answer.unwrap_err().to_string().contains("readonly"));
    }

    #[test]
    fn failed_write_is_rolled_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES ('a', '', '')";
        let failed = store.write(Durability::Full, |writer| {
            writer.execute(insert, &[])?;
            Err::<(), _>(StoreError::DeadlineExceeded)
        });
        assert!(failed.is_err());
        let count: i64 = store
            .read(five_second_deadline(), |reader| {
                reader.query_one("SELECT count(*) AS n FROM keywords", &[], |row| row.get("n"))
            })
            .unwrap();
        assert_eq!(count, 0);
    }

    #[test]
    fn checkpoint_and_close_empties_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        store.checkpoint_and_close().unwrap();
        assert!(!store.path().exists(), "a store that was never opened is not created");
        store.write(Durability::Full, |_| Ok::<_, StoreError>(())).unwrap();
        store.checkpoint_and_close().unwrap();
        let log = sidecar_path(store.path(), "-wal");
        assert!(fs::metadata(log).map_or(0, |about| about.len()) == 0);
        store.write(Durability::Full, |_| Ok::<_, StoreError>(())).unwrap();
    }

    #[test]
    fn write_to_full_disk_is_rolled_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let pages = |sql: &'static str| {
            let set =
                store.write(Durability::Full, |writer| writer.query_all(sql, &[], |_| Ok(())));
            set.unwrap_or_else(|error: StoreError| panic!("{error}"));
        };
        // The value is never below the current page count.
        pages("PRAGMA max_page_count = 1");
        let insert = "INSERT INTO keywords (keyword, created_at, last_modified)
                      VALUES (hex(zeroblob(100000)), '', '')";
        let written = store.write(Durability::Full, |writer| writer.execute(insert, &[]));
        assert!(matches!(&written, Err(StoreError::Full { .. })), "{written:?}");
        pages("PRAGMA max_page_count = 1000000");
        store.write(Durability::Full, |writer| writer.execute(insert, &[])).unwrap();
        assert_eq!(store.check_integrity().unwrap().problems, []);
    }

    #[test]
    fn statement_stops_at_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                       SELECT count(*) AS n FROM n";
        let answer: Result<i64, StoreError> = store
            .read(Deadline::after(Duration::from_millis(20)), |reader| {
                reader.query_one(endless, &[], |row| row.get("n"))
            });
        assert!(matches!(answer, Err(StoreError::DeadlineExceeded)));
    }

    #[test]
    fn statement_stops_on_cancellation() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                       SELECT i FROM n";
        let cancel = CancelFlag::default();
        let deadline = Deadline::after(Duration::from_hours(1)).with_cancellation(&cancel);
        let answer: Result<(), StoreError> = store.read(deadline.clone(), |reader| {
            reader.for_each_row(endless, &[], |_| {
                cancel.cancel();
                Ok(())
            })
        });
        assert!(matches!(answer, Err(StoreError::DeadlineExceeded)) && deadline.is_cancelled());
    }

    #[test]
    fn cancelled_read_does_not_start() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let cancel = CancelFlag::default();
        cancel.cancel();
        let mut begun = false;
        let answer: Result<(), StoreError> =
            store.read(five_second_deadline().with_cancellation(&cancel), |_| {
                begun = true;
                Ok(())
            });
        assert!(
            matches!(answer, Err(StoreError::DeadlineExceeded)) && !begun && !store.path().exists()
        );
    }

    #[test]
    fn checkpoint_moves_log_into_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES ('a', '', '')";
        store.write(Durability::Bulk, |writer| writer.execute(insert, &[])).unwrap();
        let log = folder.path().join("chacha.db-wal");
        assert!(fs::metadata(&log).unwrap().len() > 0);
        store.checkpoint().unwrap();
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    }

    /// Creates a file of schema 1 with five conversations: complete, without a title, without
    /// messages, without both, and deleted.
    fn create_schema_one_file(path: &Path) {
        let file = open_connection(path).unwrap();
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
    fn migration_indexes_conversations_with_opening_messages() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        create_schema_one_file(store.path());
        assert_eq!(store.check_integrity().unwrap().problems, []);
        let file = open_connection(store.path()).unwrap();
        file.execute_batch(
            "CREATE VIRTUAL TABLE temp.word USING fts5vocab('main', 'chat_fts', 'instance')",
        )
        .unwrap();
        let sql = "SELECT doc || ' ' || col || ' ' || ltrim(term, '=') FROM temp.word
                   ORDER BY doc, col DESC";
        let mut statement = file.prepare(sql).unwrap();
        let words = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(
            words.map(Result::unwrap).collect::<Vec<_>>(),
            [
                "2 title bread",
                "2 sender x",
                "2 neighbours malt",
                "2 content oat",
                "3 sender x",
                "3 neighbours malt",
                "3 content rye",
                "4 sender x",
                "4 content spelt",
                "6 title oven",
                "9 sender x",
                "9 neighbours oat",
                "9 neighbours rye",
                "9 content malt",
            ]
        );
        let count = "SELECT count(*) FROM chat_fts_docsize";
        let rows: i64 = file.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 5);
        let sql = "SELECT position FROM messages ORDER BY row";
        let mut statement = file.prepare(sql).unwrap();
        let positions = statement.query_map([], |row| row.get::<_, Option<i64>>(0)).unwrap();
        assert_eq!(
            positions.map(Result::unwrap).collect::<Vec<_>>(),
            [Some(2), Some(0), None, Some(1), Some(0), Some(0)]
        );
    }

    #[test]
    fn store_rejects_foreign_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("media.db");
        open_connection(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
        let before = fs::read(&path).unwrap();
        let error = Store::new(Database::Media, folder.path()).check_integrity().unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn store_rejects_newer_schema() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Media, folder.path());
        store.check_integrity().unwrap();
        store.close();
        open_connection(store.path()).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(
            store.check_integrity().unwrap_err(),
            StoreError::Newer { found: 99, .. }
        ));
    }
}
