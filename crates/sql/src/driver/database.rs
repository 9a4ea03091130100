//! Database of any engine.

use std::{fmt, time::Duration};

use serde_json::Value;

use crate::{
    ConnectionTarget, Engine, ErrorCode, Parameter, QueryCaps, Rows, SqlError,
    driver::{
        DatabaseRights, GuardReport, HypotheticalIndexes, MySql, PoolLoad, Postgres, RowSender,
        WriteResult, sqlite::Sqlite,
    },
    guard::{ReadOnlyQuery, WriteStatement},
};

/// Database and its connection pool. Cheap to create: no connection is made before the first
/// statement, and each statement retries if the database was not reachable.
pub struct Database {
    driver: Driver,
}

enum Driver {
    Postgres(Postgres),
    MySql(MySql),
    Sqlite(Sqlite),
}

impl Database {
    /// Creates a database with at most `connections` connections to a server. Establishing one takes
    /// at most `connect_timeout`.
    pub fn open(
        target: ConnectionTarget,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let driver = match target {
            ConnectionTarget::Postgres(server) => {
                Driver::Postgres(Postgres::new(server, connections, connect_timeout)?)
            }
            ConnectionTarget::MySql(server) => {
                Driver::MySql(MySql::new(server, connections, connect_timeout)?)
            }
            ConnectionTarget::Sqlite(path) => Driver::Sqlite(Sqlite::new(path)),
        };
        Ok(Self { driver })
    }

    /// Returns the engine.
    pub fn engine(&self) -> Engine {
        match self.driver {
            Driver::Postgres(_) => Engine::Postgres,
            Driver::MySql(_) => Engine::MySql,
            Driver::Sqlite(_) => Engine::Sqlite,
        }
    }

    /// Runs a query in a read-only transaction. With a `sender`, it sends rows as they arrive,
    /// and returns the last ones.
    pub async fn run_query(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
        sender: Option<&RowSender>,
    ) -> Result<Rows, SqlError> {
        self.check_engine(query.engine())?;
        match &self.driver {
            Driver::Postgres(database) => database.run_query(query, parameters, caps, sender).await,
            Driver::MySql(database) => database.run_query(query, parameters, caps, sender).await,
            Driver::Sqlite(database) => database.run_query(query, parameters, caps, sender).await,
        }
    }

    /// Runs a statement that may write, in a transaction of its own.
    pub async fn run_write(
        &self,
        statement: &WriteStatement,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<WriteResult, SqlError> {
        self.check_engine(statement.engine())?;
        match &self.driver {
            Driver::Postgres(database) => database.run_write(statement, parameters, caps).await,
            Driver::MySql(database) => database.run_write(statement, parameters, caps).await,
            Driver::Sqlite(database) => database.run_write(statement, parameters, caps).await,
        }
    }

    /// Returns the plan of a query that is not run, then one with each set of indexes; `None` for a
    /// set that cannot be created. `PostgreSQL` only.
    pub async fn plan_statement(
        &self,
        query: &ReadOnlyQuery,
        indexes: &HypotheticalIndexes,
        caps: QueryCaps,
    ) -> Result<Vec<Option<Value>>, SqlError> {
        self.check_engine(query.engine())?;
        match &self.driver {
            Driver::Postgres(database) => database.plan_statement(query, indexes, caps).await,
            Driver::MySql(_) | Driver::Sqlite(_) => {
                let message = format!("{} has no hypothetical indexes", self.engine());
                Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message))
            }
        }
    }

    /// Returns the version reported by the engine.
    pub async fn server_version(&self, timeout: Duration) -> Result<String, SqlError> {
        match &self.driver {
            Driver::Postgres(database) => database.server_version(timeout).await,
            Driver::MySql(database) => database.server_version(timeout).await,
            Driver::Sqlite(_) => Ok(rusqlite::version().to_owned()),
        }
    }

    /// Returns the privileges of the database user, independent of the guard.
    pub async fn fetch_rights(&self, timeout: Duration) -> Result<DatabaseRights, SqlError> {
        match &self.driver {
            Driver::Postgres(database) => database.fetch_rights(timeout).await,
            Driver::MySql(database) => database.fetch_rights(timeout).await,
            Driver::Sqlite(database) => database.fetch_rights().await,
        }
    }

    /// Checks a read of each table that the user may select; nothing is read. `PostgreSQL` only: for
    /// other engines the report has no tables.
    pub async fn check_tables(&self, caps: QueryCaps) -> Result<GuardReport, SqlError> {
        match &self.driver {
            Driver::Postgres(database) => database.check_tables(caps).await,
            Driver::MySql(_) | Driver::Sqlite(_) => Ok(GuardReport::default()),
        }
    }

    /// Returns the current use of the connections.
    pub fn pool_load(&self) -> PoolLoad {
        match &self.driver {
            Driver::Postgres(database) => database.pool_load(),
            Driver::MySql(database) => database.pool_load(),
            Driver::Sqlite(database) => database.pool_load(),
        }
    }

    /// Rejects a statement that the guard checked for another engine.
    fn check_engine(&self, engine: Engine) -> Result<(), SqlError> {
        if engine == self.engine() {
            return Ok(());
        }
        let message = format!("a statement for {engine} cannot be run by {}", self.engine());
        Err(SqlError::new(ErrorCode::XsqlInternal, message))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Address and user must not appear in logs.
        write!(out, "Database({})", self.engine())
    }
}
