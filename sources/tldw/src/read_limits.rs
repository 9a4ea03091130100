//! Limits of reading a database that another program wrote.
//!
//! A file may be made to harm its reader: a page that is its own child makes a table endless, and
//! rows that all join with each other fill the memory. Every statement on such a file therefore
//! runs under a progress handler that interrupts it, and every loop over rows counts them.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, config::DbConfig, ffi, limits::Limit};
use vademecum_fts5::sqlite_heap_bytes;

/// Virtual machine steps between two checks: about a microsecond. Few, because a row of a temporary
/// table takes few steps and may have the size of the largest value.
const STEPS_PER_CHECK: u16 = 50;
/// Maximum size of a value, in bytes: that of an item and a margin.
const MAX_VALUE_BYTES: i32 = 65 * 1024 * 1024;
/// Maximum number of rows of one item, such as the messages of a conversation.
const MAX_ITEM_ROWS: usize = 200_000;
/// Maximum size of the rows of one item, in bytes.
const MAX_ITEM_BYTES: usize = 128 * 1024 * 1024;

/// Limits of the statements on one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    /// Maximum time of one listing, or of reading one item.
    pub(crate) statement_time: Duration,
    /// Maximum time of all statements.
    pub(crate) total_time: Duration,
    /// Maximum number of virtual machine steps of one listing, or of reading one item.
    pub(crate) steps: u64,
    /// Maximum growth of the memory of SQLite during one listing or item, in bytes.
    pub(crate) heap_bytes: u64,
}

/// The limit that a statement exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLimit {
    /// One statement took too long.
    Time(Duration),
    /// All statements together took too long.
    TotalTime(Duration),
    /// One statement needed too many steps.
    Steps(u64),
    /// One statement needed too much memory, in bytes.
    Memory(u64),
}

impl fmt::Display for ReadLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(formatter, "a query took longer than {} s", time.as_secs()),
            Self::TotalTime(time) => {
                write!(formatter, "its queries took longer than {} s in all", time.as_secs())
            }
            Self::Steps(steps) => write!(formatter, "a query needed more than {steps} steps"),
            Self::Memory(bytes) => {
                write!(formatter, "a query needed more than {} MB of memory", bytes / 1_000_000)
            }
        }
    }
}

impl ReadLimits {
    /// Returns the limits of a file of this size.
    pub(crate) fn of_file(bytes: u64) -> Self {
        let minutes = Duration::from_mins(2);
        Self {
            statement_time: minutes,
            // An honest file is read faster than 1 MiB per second.
            total_time: minutes + Duration::from_secs(bytes >> 20),
            // An honest listing needs a few steps for each byte of the file.
            steps: 1_000_000_000 + bytes.saturating_mul(16),
            // A sort of an honest file needs at most its size.
            heap_bytes: (256 << 20) + bytes.min(768 << 20),
        }
    }
}

/// Observes the statements of a connection and interrupts them at their limits.
#[derive(Debug)]
pub(crate) struct ReadWatch {
    limits: ReadLimits,
    state: Arc<Mutex<WatchState>>,
}

#[derive(Debug, Default)]
struct WatchState {
    /// Usage of the running statements, if there are any.
    running: Option<RunningRead>,
    /// Time of all statements that have ended.
    spent: Duration,
    exceeded: Option<ReadLimit>,
}

#[derive(Debug)]
struct RunningRead {
    begun: Instant,
    steps: u64,
    heap_before: u64,
}

impl ReadWatch {
    /// Restricts a connection to reading tables, and installs the limits.
    pub(crate) fn install(connection: &Connection, limits: ReadLimits) -> rusqlite::Result<Self> {
        for (setting, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
        ] {
            connection.set_db_config(setting, value)?;
        }
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        // Temporary tables count as memory, and cannot fill a disk.
        connection.pragma_update(None, "temp_store", "memory")?;
        let state = Arc::new(Mutex::new(WatchState::default()));
        let watched = Arc::clone(&state);
        let must_stop = move || lock(&watched).must_stop(limits);
        connection.progress_handler(STEPS_PER_CHECK.into(), Some(must_stop))?;
        Ok(Self { limits, state })
    }

    /// Runs the statements of one listing or of one item within the limits.
    pub(crate) fn run<T>(&self, read: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let running =
            RunningRead { begun: Instant::now(), steps: 0, heap_before: sqlite_heap_bytes() };
        lock(&self.state).running = Some(running);
        let answer = read();
        let mut state = lock(&self.state);
        if let Some(RunningRead { begun, .. }) = state.running.take() {
            state.spent += begun.elapsed();
        }
        // Many short statements do not reach the check of the progress handler.
        if state.spent > self.limits.total_time && state.exceeded.is_none() {
            state.exceeded = Some(ReadLimit::TotalTime(self.limits.total_time));
            return Err(interrupted());
        }
        answer
    }

    /// Returns the limit that a statement exceeded, if any.
    pub(crate) fn exceeded(&self) -> Option<ReadLimit> {
        lock(&self.state).exceeded
    }
}

impl WatchState {
    fn must_stop(&mut self, limits: ReadLimits) -> bool {
        let Some(running) = &mut self.running else { return false };
        running.steps += u64::from(STEPS_PER_CHECK);
        let time = running.begun.elapsed();
        let heap = sqlite_heap_bytes().saturating_sub(running.heap_before);
        self.exceeded = if time > limits.statement_time {
            Some(ReadLimit::Time(limits.statement_time))
        } else if self.spent + time > limits.total_time {
            Some(ReadLimit::TotalTime(limits.total_time))
        } else if running.steps > limits.steps {
            Some(ReadLimit::Steps(limits.steps))
        } else if heap > limits.heap_bytes {
            Some(ReadLimit::Memory(limits.heap_bytes))
        } else {
            None
        };
        self.exceeded.is_some()
    }
}

/// Counts the rows of one item.
#[derive(Debug)]
pub(crate) struct RowBudget {
    rows: usize,
    bytes: usize,
}

impl RowBudget {
    /// Returns the number of rows and bytes that one item may have.
    pub(crate) fn of_item() -> Self {
        Self { rows: MAX_ITEM_ROWS, bytes: MAX_ITEM_BYTES }
    }

    /// Counts a row with `bytes` bytes of text. Fails if the item has more rows or bytes than
    /// allowed.
    pub(crate) fn count(&mut self, bytes: usize) -> rusqlite::Result<()> {
        match (self.rows.checked_sub(1), self.bytes.checked_sub(bytes)) {
            (Some(rows), Some(left)) => {
                *self = Self { rows, bytes: left };
                Ok(())
            }
            (None, _) => Err(too_big(&format!("it has more than {MAX_ITEM_ROWS} rows"))),
            (_, None) => Err(too_big(&format!("it is larger than {MAX_ITEM_BYTES} bytes"))),
        }
    }
}

/// Returns the error of a value or an item that is too large.
pub(crate) fn too_big(reason: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), Some(reason.to_owned()))
}

fn interrupted() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)
}

/// A poisoned lock can be used: the state is replaced as a whole.
fn lock(state: &Mutex<WatchState>) -> MutexGuard<'_, WatchState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                           SELECT count(*) FROM n";

    const WIDE: ReadLimits = ReadLimits {
        statement_time: Duration::from_mins(1),
        total_time: Duration::from_mins(1),
        steps: u64::MAX,
        heap_bytes: u64::MAX,
    };

    /// Runs `sql` within the limits and returns the limit that it exceeded.
    fn limit_of(sql: &str, limits: ReadLimits) -> Option<ReadLimit> {
        let connection = Connection::open_with_flags(":memory:", rusqlite::OpenFlags::default());
        let connection = connection.unwrap();
        let watch = ReadWatch::install(&connection, limits).unwrap();
        let answer = watch.run(|| connection.query_row(sql, [], |row| row.get::<_, i64>(0)));
        assert_eq!(answer.is_err(), watch.exceeded().is_some(), "{answer:?}");
        watch.exceeded()
    }

    #[test]
    fn endless_statement_is_interrupted_by_time() {
        let time = Duration::from_millis(20);
        let limits = ReadLimits { statement_time: time, ..WIDE };
        assert_eq!(limit_of(ENDLESS, limits), Some(ReadLimit::Time(time)));
        let limits = ReadLimits { total_time: time, ..WIDE };
        assert_eq!(limit_of(ENDLESS, limits), Some(ReadLimit::TotalTime(time)));
    }

    #[test]
    fn endless_statement_is_interrupted_by_steps() {
        let limits = ReadLimits { steps: 100_000, ..WIDE };
        assert_eq!(limit_of(ENDLESS, limits), Some(ReadLimit::Steps(100_000)));
        assert_eq!(limit_of("SELECT 1", limits), None);
    }

    #[test]
    fn growing_statement_is_interrupted_by_memory() {
        let sql = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n),
                   wide AS MATERIALIZED (SELECT i, hex(zeroblob(1000)) AS text FROM n)
                   SELECT count(*) FROM (SELECT text FROM wide ORDER BY text, i)";
        let limits = ReadLimits { heap_bytes: 32 << 20, ..WIDE };
        assert_eq!(limit_of(sql, limits), Some(ReadLimit::Memory(32 << 20)));
    }

    #[test]
    fn views_are_unusable() {
        let connection = Connection::open_with_flags(":memory:", rusqlite::OpenFlags::default());
        let connection = connection.unwrap();
        connection.execute_batch("CREATE VIEW v AS SELECT 1 AS a").unwrap();
        let _watch = ReadWatch::install(&connection, WIDE).unwrap();
        let error = connection.prepare("SELECT a FROM v").unwrap_err().to_string();
        assert!(error.contains("prohibited"), "{error}");
    }

    #[test]
    fn item_with_too_many_rows_is_refused() {
        let mut budget = RowBudget { rows: 2, bytes: 10 };
        budget.count(4).unwrap();
        assert!(budget.count(7).unwrap_err().to_string().contains("bytes"));
        budget.count(6).unwrap();
        assert!(budget.count(0).unwrap_err().to_string().contains("rows"));
    }
}
