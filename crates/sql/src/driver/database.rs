//! A database, whatever its engine.

use std::{fmt, time::Duration};

use crate::{
    Caps, Engine, ErrorCode, Parameter, Rows, SqlError, Target,
    driver::{mysql::MySql, postgres::Postgres, rights::Rights, sqlite::Sqlite},
    guard::{ReadOnlyQuery, WriteStatement},
};

/// What a statement that may write has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// How many rows it changed, as the engine counts.
    pub rows_affected: u64,
    /// The rows that it gave, for instance by `RETURNING`.
    pub rows: Rows,
}

/// How the connections to a database are used at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Connections in use.
    pub busy: usize,
    /// Connections that are kept for the next.
    pub idle: usize,
    /// Callers that wait for one.
    pub waiting: usize,
}

/// A database and its connections. Cheap to make: nothing is touched before the
/// first statement, and a database that cannot be reached is tried anew by each.
pub struct Database {
    driver: Driver,
}

enum Driver {
    Postgres(Postgres),
    MySql(MySql),
    Sqlite(Sqlite),
}

impl Database {
    /// A database that is asked over `connections` connections at most, none of
    /// which may take longer than `connect_timeout` to be made.
    pub fn open(
        target: Target,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let driver = match target {
            Target::Postgres(server) => {
                Driver::Postgres(Postgres::new(server, connections, connect_timeout)?)
            }
            Target::MySql(server) => {
                Driver::MySql(MySql::new(server, connections, connect_timeout)?)
            }
            Target::Sqlite(path) => Driver::Sqlite(Sqlite::new(path, connections)),
        };
        Ok(Self { driver })
    }

    /// Its engine.
    pub fn engine(&self) -> Engine {
        match self.driver {
            Driver::Postgres(_) => Engine::Postgres,
            Driver::MySql(_) => Engine::MySql,
            Driver::Sqlite(_) => Engine::Sqlite,
        }
    }

    /// Runs a query, in a transaction that cannot write.
    pub async fn read(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: Caps,
    ) -> Result<Rows, SqlError> {
        self.is_for(query.engine())?;
        match &self.driver {
            Driver::Postgres(database) => database.read(query, parameters, caps).await,
            Driver::MySql(database) => database.read(query, parameters, caps).await,
            Driver::Sqlite(database) => database.read(query, parameters, caps).await,
        }
    }

    /// Runs a statement that may write, in a transaction of its own.
    pub async fn write(&self, statement: &WriteStatement, caps: Caps) -> Result<Written, SqlError> {
        self.is_for(statement.engine())?;
        match &self.driver {
            Driver::Postgres(database) => database.write(statement, caps).await,
            Driver::MySql(database) => database.write(statement, caps).await,
            Driver::Sqlite(database) => database.write(statement, caps).await,
        }
    }

    /// What the engine calls its version.
    pub async fn version(&self, timeout: Duration) -> Result<String, SqlError> {
        match &self.driver {
            Driver::Postgres(database) => database.version(timeout).await,
            Driver::MySql(database) => database.version(timeout).await,
            Driver::Sqlite(_) => Ok(rusqlite::version().to_owned()),
        }
    }

    /// What the user of this database could do, were it not for the guard.
    pub async fn rights(&self, timeout: Duration) -> Result<Rights, SqlError> {
        match &self.driver {
            Driver::Postgres(database) => database.rights(timeout).await,
            Driver::MySql(database) => database.rights(timeout).await,
            Driver::Sqlite(database) => database.rights().await,
        }
    }

    /// How its connections are used.
    pub fn load(&self) -> Load {
        match &self.driver {
            Driver::Postgres(database) => database.load(),
            Driver::MySql(database) => database.load(),
            Driver::Sqlite(database) => database.load(),
        }
    }

    /// A statement was read by the rules of one engine, which are not those of another.
    fn is_for(&self, engine: Engine) -> Result<(), SqlError> {
        if engine == self.engine() {
            return Ok(());
        }
        let message = format!("a statement for {engine} cannot be run by {}", self.engine());
        Err(SqlError::new(ErrorCode::XsqlInternal, message))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where it is and who connects is nobody's business.
        write!(out, "Database({})", self.engine())
    }
}
