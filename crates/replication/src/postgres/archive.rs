//! The archive: its interface, attempts and timeouts.

use std::{fmt, io, ops::ControlFlow, path::PathBuf, time::Duration};

use deadpool::{
    Runtime,
    managed::{Object, Pool, PoolError, Timeouts},
};
use futures_util::TryStreamExt;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_postgres::{Row, types::ToSql};
use vademecum_core::config::SchemaName;
use vademecum_sql::{ServerTarget, SqlError};
use vademecum_store::{
    Archive, ArchiveError, Entry, Followed, Head, PartName, Put, SharedValue, WriteId,
};

use super::{
    blocking::ConnectionThread,
    connection::{ArchiveConnection, Connector},
    entry_columns::{EntryColumns, read_entry},
    failure::Failure,
    heads::{check_primary, damaged, read_head, read_heads},
    identity::FollowingFolder,
    proposed_write::ProposedWrite,
    row_compression::RowDecompressor,
    statements::ArchiveStatement,
};

/// Maximum time of a small read, with all its attempts.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time between two rows of a database.
const ROW_TIMEOUT: Duration = Duration::from_secs(30);
/// Time after which a write fails of which nothing was sent, because no connection can be made.
const UNSENT_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause between the attempts of a write.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Size of the rows in one statement, in bytes. A larger write takes several.
const MAX_STATEMENT_BYTES: usize = 8 << 20;
/// Number of the latest writes of a database whose receipts are kept.
const RECEIPTS: i64 = 4_096;
/// Number of writes of a database after which old receipts are removed.
const FORGET_INTERVAL: i64 = 256;

/// Limits of an archive.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// Data folder with the copies. It records the archive, and another one is refused.
    pub folder: PathBuf,
    /// Schema of the tables.
    pub schema: SchemaName,
    /// Maximum number of connections.
    pub connections: usize,
    /// Time after which a write whose outcome is not known fails.
    pub put_timeout: Duration,
    /// Maximum time to connect.
    pub connect_timeout: Duration,
}

/// An archive in a `PostgreSQL` database.
pub struct PostgresArchive {
    reads: Pool<Connector>,
    /// Connections of writes, which may wait for a standby, so that reads never wait for them.
    writes: Pool<Connector>,
    thread: ConnectionThread,
    options: ArchiveOptions,
}

impl fmt::Debug for PostgresArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresArchive").finish_non_exhaustive()
    }
}

/// Error of setting up an archive. The server was not reached yet.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The TLS settings are invalid.
    #[error("{}", .0.message)]
    Tls(SqlError),
    /// The thread of the connections could not be started.
    #[error("the thread of the archive could not be started")]
    Thread(#[from] io::Error),
    /// The pool could not be made.
    #[error("the connections of the archive could not be set up: {0}")]
    Pool(String),
}

type PooledConnection = Object<Connector>;

impl PostgresArchive {
    /// Creates an archive. It connects on first use, and then creates its tables.
    pub fn new(server: &ServerTarget, options: ArchiveOptions) -> Result<Self, SetupError> {
        let open_pool = || {
            let connector = Connector::new(
                server,
                options.schema.clone(),
                FollowingFolder::new(options.folder.clone()),
                options.connect_timeout,
            );
            Pool::builder(connector.map_err(SetupError::Tls)?)
                .max_size(options.connections)
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|error| SetupError::Pool(error.to_string()))
        };
        let (reads, writes) = (open_pool()?, open_pool()?);
        Ok(Self { reads, writes, thread: ConnectionThread::start()?, options })
    }

    /// Returns a connection that is closed afterwards unless it is marked as clean.
    async fn connect(&self, pool: &Pool<Connector>) -> Result<PooledConnection, Failure> {
        let timeouts = Timeouts {
            wait: Some(READ_TIMEOUT),
            create: Some(self.options.connect_timeout),
            recycle: None,
        };
        let connected = pool.timeout_get(&timeouts).await;
        let connection = connected.map_err(|error| match error {
            PoolError::Backend(failure) => failure,
            PoolError::Timeout(_) => Failure::Unreachable("no connection in time".to_owned()),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                let reason = "the connections are closed".to_owned();
                Failure::Final(ArchiveError::Refused(reason))
            }
        })?;
        connection.set_clean(false);
        Ok(connection)
    }

    /// Runs a statement that may be repeated. Connections that are found dead are replaced.
    fn run<T>(
        &self,
        pool: &Pool<Connector>,
        work: &impl AsyncFn(&ArchiveConnection) -> Result<T, Failure>,
    ) -> Result<T, ArchiveError> {
        let attempts = async {
            let mut failure = Failure::Unreachable("no connection".to_owned());
            // All idle connections may be dead; the attempt after them gets a new one.
            for _ in 0..=self.options.connections {
                let connection = match self.connect(pool).await {
                    Ok(connection) => connection,
                    Err(failure) => return Err(failure.into_read_error()),
                };
                match work(&connection).await {
                    Ok(answer) => {
                        connection.set_clean(true);
                        return Ok(answer);
                    }
                    Err(Failure::Final(error)) => return Err(error),
                    Err(other) => failure = other,
                }
            }
            Err(failure.into_read_error())
        };
        self.thread.block_on(async {
            timeout(READ_TIMEOUT, attempts)
                .await
                .unwrap_or_else(|_| Err(ArchiveError::Unreachable("no answer in time".to_owned())))
        })
    }

    /// Runs a statement that may be repeated, and reads its rows.
    fn query<T>(
        &self,
        statement: ArchiveStatement,
        parameters: &[&(dyn ToSql + Sync)],
        read: impl Fn(&Row) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Vec<T>, ArchiveError> {
        let rows = self
            .run(&self.reads, &async |connection| connection.query(statement, parameters).await)?;
        rows.iter().map(|row| read(row).map_err(|error| damaged(&error))).collect()
    }

    /// Runs a statement that may be repeated, and returns the number of changed rows.
    fn execute(
        &self,
        statement: ArchiveStatement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, ArchiveError> {
        self.run(&self.writes, &async |connection| connection.execute(statement, parameters).await)
    }

    /// Proposes a write until its outcome is known.
    async fn put_until_settled(&self, write: &ProposedWrite<'_>) -> Result<Put, ArchiveError> {
        let began_at = Instant::now();
        let deadline = began_at + self.options.put_timeout;
        let mut is_sent = false;
        loop {
            let attempt = async {
                let connection = self.connect(&self.writes).await?;
                let stored = write.put(&connection).await;
                connection.set_clean(stored.is_ok());
                stored
            };
            let reason = match timeout_at(deadline, attempt).await {
                Ok(Ok(put)) => return Ok(put),
                Ok(Err(Failure::Final(error))) => return Err(error),
                Ok(Err(Failure::Unreachable(reason))) => reason,
                Ok(Err(Failure::Lost(reason))) => {
                    is_sent = true;
                    reason
                }
                // The statement goes on at the server.
                Err(_) => {
                    return Err(ArchiveError::Unconfirmed("no answer in time".to_owned()));
                }
            };
            let retry_timeout = if is_sent { self.options.put_timeout } else { UNSENT_TIMEOUT };
            if began_at.elapsed() + RETRY_PAUSE >= retry_timeout {
                return Err(if is_sent {
                    ArchiveError::Unconfirmed(reason)
                } else {
                    ArchiveError::Unreachable(reason)
                });
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Removes what no server needs any more, from time to time.
    fn forget_old(&self, part: &PartName, seq: u64) {
        let seq = seq.cast_signed();
        if seq % FORGET_INTERVAL != 0 || seq <= RECEIPTS {
            return;
        }
        let (pool, part, last) = (self.writes.clone(), part.clone(), seq - RECEIPTS);
        self.thread.spawn(async move {
            let Ok(connection) = pool.get().await else { return };
            connection.set_clean(false);
            let parameters: [&(dyn ToSql + Sync); 3] = [&part.user, &part.part, &last];
            let forgotten = async {
                connection.execute(ArchiveStatement::ForgetReceipts, &parameters).await?;
                connection.execute(ArchiveStatement::ForgetDeleted, &parameters).await
            };
            match forgotten.await {
                Ok(_) => connection.set_clean(true),
                Err(failure) => {
                    tracing::debug!(?failure, "old receipts of the archive were not removed");
                }
            }
        });
    }
}

impl Archive for PostgresArchive {
    fn schema_version(&self) -> Result<Option<u32>, ArchiveError> {
        self.thread.block_on(async {
            match timeout(READ_TIMEOUT, self.reads.manager().read_schema_version()).await {
                Ok(found) => found.map_err(Failure::into_read_error),
                Err(_) => Err(ArchiveError::Unreachable("no answer in time".to_owned())),
            }
        })
    }

    fn unix_milliseconds(&self) -> Result<i64, ArchiveError> {
        let rows = self.query(ArchiveStatement::Clock, &[], |row| row.try_get("milliseconds"))?;
        rows.first().copied().ok_or_else(|| damaged(&"no time"))
    }

    fn row_count(&self, part: &PartName) -> Result<u64, ArchiveError> {
        let PartName { user, part } = part;
        let rows = self.query(ArchiveStatement::RowCount, &[user, part], |row| {
            row.try_get::<_, i64>("row_count")
        })?;
        Ok(rows.first().map_or(0, |count| count.unsigned_abs()))
    }

    fn heads(&self, parts: &[PartName]) -> Result<Vec<Head>, ArchiveError> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        self.run(&self.reads, &async |connection| read_heads(connection, parts).await)
    }

    fn since(
        &self,
        part: &PartName,
        seen: Head,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Followed, ArchiveError> {
        let (number, write) = (seen.seq.cast_signed(), seen.write.0);
        let parameters: [&(dyn ToSql + Sync); 4] = [&part.user, &part.part, &number, &write];
        self.thread.block_on(async {
            // All idle connections may be dead. Rows are passed on once, so only the first is
            // awaited here.
            let mut attempts = 0..=self.options.connections;
            let (connection, mut rows, first) = loop {
                let connection = self.connect(&self.reads).await;
                let connection = connection.map_err(Failure::into_read_error)?;
                let opened = timeout(ROW_TIMEOUT, async {
                    let rows = connection.stream(ArchiveStatement::Since, &parameters).await?;
                    let mut rows = Box::pin(rows);
                    let first = rows.try_next().await;
                    let first = first.map_err(|error| Failure::from_statement(&error))?;
                    if let Some(row) = &first {
                        check_primary(row)?;
                    }
                    Ok((rows, first))
                });
                let failure = match opened.await {
                    Ok(Ok((rows, first))) => break (connection, rows, first),
                    Ok(Err(failure)) => failure,
                    Err(_) => Failure::Lost("no answer in time".to_owned()),
                };
                drop(connection);
                if attempts.next().is_none() || matches!(failure, Failure::Final(_)) {
                    return Err(failure.into_read_error());
                }
            };
            let Some(first) = first else {
                return Ok(match seen.seq {
                    0 => Followed::To(Head::default()),
                    _ => Followed::Diverged,
                });
            };
            let is_known: bool = first.try_get("is_known").map_err(|error| damaged(&error))?;
            if !is_known {
                return Ok(Followed::Diverged);
            }
            let number = first.try_get("head_seq").map_err(|error| damaged(&error))?;
            let head = read_head(&first, number).map_err(|error| damaged(&error))?;
            let (mut next, mut decompressor) = (Some(first), RowDecompressor::default());
            while let Some(row) = next {
                let entry = read_entry(&row, &mut decompressor).map_err(|error| damaged(&error))?;
                if entry.is_some_and(|entry| each(entry).is_break()) {
                    return Ok(Followed::To(head));
                }
                next = match timeout(ROW_TIMEOUT, rows.try_next()).await {
                    Ok(Ok(row)) => row,
                    Ok(Err(error)) => {
                        return Err(Failure::from_statement(&error).into_read_error());
                    }
                    Err(_) => {
                        return Err(ArchiveError::Unreachable("no row in time".to_owned()));
                    }
                };
            }
            connection.set_clean(true);
            Ok(Followed::To(head))
        })
    }

    fn put(
        &self,
        part: &PartName,
        seen: Head,
        write: WriteId,
        schema: u32,
        entries: &[Entry],
    ) -> Result<Put, ArchiveError> {
        let groups = EntryColumns::in_groups(entries, MAX_STATEMENT_BYTES);
        let proposed = ProposedWrite { part, seen, write, schema, groups };
        let put = self.thread.block_on(self.put_until_settled(&proposed))?;
        if let Put::Done(head) = put {
            self.forget_old(part, head.seq);
        }
        Ok(put)
    }

    fn list_parts(&self, user: &str) -> Result<Vec<PartName>, ArchiveError> {
        self.query(ArchiveStatement::Parts, &[&user], |row| {
            Ok(PartName { user: user.to_owned(), part: row.try_get("part")? })
        })
    }

    fn users(&self) -> Result<Vec<String>, ArchiveError> {
        self.query(ArchiveStatement::Users, &[], |row| row.try_get("user_id"))
    }

    fn remove_part(&self, part: &PartName) -> Result<(), ArchiveError> {
        let PartName { user, part } = part;
        self.run(&self.writes, &async |connection| {
            connection.batch("BEGIN").await?;
            let statements = [
                ArchiveStatement::RemovePart,
                ArchiveStatement::RemoveEntries,
                ArchiveStatement::RemoveReceipts,
            ];
            for statement in statements {
                connection.execute(statement, &[user, part]).await?;
            }
            connection.batch("COMMIT").await
        })
    }

    fn value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
    ) -> Result<Option<SharedValue>, ArchiveError> {
        Ok(self.values(user, kind, &[key])?.pop().flatten())
    }

    fn values(
        &self,
        user: &str,
        kind: &str,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<SharedValue>>, ArchiveError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let found: Vec<(Vec<u8>, SharedValue)> =
            self.query(ArchiveStatement::Values, &[&user, &kind, &keys], |row| {
                let left: Option<f64> = row.try_get("seconds_left")?;
                let ttl = left.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                Ok((row.try_get("key")?, SharedValue { bytes: row.try_get("content")?, ttl }))
            })?;
        let found: std::collections::HashMap<_, _> = found.into_iter().collect();
        Ok(keys.iter().map(|key| found.get(*key).cloned()).collect())
    }

    fn set_values(
        &self,
        user: &str,
        kind: &str,
        values: &[(&[u8], SharedValue)],
    ) -> Result<(), ArchiveError> {
        // Of several values of a key, the last one counts.
        let last: std::collections::BTreeMap<&[u8], &SharedValue> =
            values.iter().map(|(key, value)| (*key, value)).collect();
        let keys: Vec<&[u8]> = last.keys().copied().collect();
        let contents: Vec<&[u8]> = last.values().map(|value| value.bytes.as_slice()).collect();
        let seconds: Vec<Option<f64>> = last.values().map(|value| seconds_left(value)).collect();
        let parameters: [&(dyn ToSql + Sync); 5] = [&user, &kind, &keys, &contents, &seconds];
        self.execute(ArchiveStatement::SetValues, &parameters).map(drop)
    }

    fn value_or_insert(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        value: &SharedValue,
    ) -> Result<SharedValue, ArchiveError> {
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&user, &kind, &key, &value.bytes, &seconds_left(value)];
        self.execute(ArchiveStatement::InsertValue, &parameters)?;
        // An earlier attempt may have inserted the value, so the answer is read in any case.
        Ok(self.value(user, kind, key)?.unwrap_or_else(|| value.clone()))
    }

    fn extend_value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        value: &SharedValue,
    ) -> Result<bool, ArchiveError> {
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&user, &kind, &key, &value.bytes, &seconds_left(value)];
        Ok(self.execute(ArchiveStatement::ExtendValue, &parameters)? > 0)
    }

    fn release_value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<(), ArchiveError> {
        self.execute(ArchiveStatement::ReleaseValue, &[&user, &kind, &key, &bytes]).map(drop)
    }

    fn next_number(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        least: u64,
    ) -> Result<u64, ArchiveError> {
        let least = i64::try_from(least).unwrap_or(i64::MAX);
        let parameters: [&(dyn ToSql + Sync); 4] = [&user, &kind, &key, &least];
        let rows = self.run(&self.writes, &async |connection| {
            connection.query(ArchiveStatement::NextNumber, &parameters).await
        })?;
        let number = rows.first().map(|row| row.try_get::<_, i64>("number")).transpose();
        let number = number.map_err(|error| damaged(&error))?;
        number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| damaged(&"no number"))
    }

    fn remove_value(&self, user: &str, kind: &str, key: &[u8]) -> Result<bool, ArchiveError> {
        Ok(self.execute(ArchiveStatement::RemoveValue, &[&user, &kind, &key])? > 0)
    }

    fn remove_values(&self, user: &str, kind: Option<&str>) -> Result<(), ArchiveError> {
        self.execute(ArchiveStatement::RemoveValues, &[&user, &kind]).map(drop)
    }

    fn remove_expired_values(&self) -> Result<(), ArchiveError> {
        self.execute(ArchiveStatement::RemoveExpired, &[]).map(drop)
    }
}

/// Returns the time after which a value expires, in seconds.
fn seconds_left(value: &SharedValue) -> Option<f64> {
    value.ttl.map(|ttl| ttl.as_secs_f64())
}
