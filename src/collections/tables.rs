//! The databases that collections are made of, and a way to wait for them on a
//! thread of one's own.

use std::sync::Arc;

use tokio::runtime::Handle;

use vademecum_core::{auth::Principal, config::Table};
use vademecum_sql::{Caps, Connection, Databases, ErrorCode, Parameter, Rows, SqlError, guard};

/// The databases that collections are made of.
///
/// That a collection is made of a table is the doing of whoever owns the server, and
/// so its rows are read by their rights, whoever may use the profile.
#[derive(Clone, Debug)]
pub struct Tables {
    databases: Arc<Databases>,
    owner: Principal,
    /// Where connections live. Only whoever is put together inside of a runtime has one.
    runtime: Option<Handle>,
}

/// A database, as whoever may block asks it.
#[derive(Debug)]
pub(super) struct Desk {
    connection: Connection,
    runtime: Handle,
}

impl Tables {
    /// Those of these databases, which are asked by the rights of `owner`.
    pub fn new(databases: Arc<Databases>, owner: Principal) -> Self {
        Self { databases, owner, runtime: Handle::try_current().ok() }
    }

    /// The database that a table is in.
    pub async fn connect(&self, table: &Table) -> Result<Connection, SqlError> {
        self.databases.connect(&self.owner, Some(&table.profile)).await
    }

    /// What cannot be with a table, as far as the settings tell.
    pub(super) fn check(&self, table: &Table) -> Result<(), SqlError> {
        let profile = self.databases.profiles().get(&self.owner, &table.profile)?;
        let condition = table.condition.as_deref();
        condition.map_or(Ok(()), |it| guard::condition(profile.engine(), it).map(drop))
    }

    /// The same for whoever may block, and does so on a thread of their own.
    pub(super) fn desk(&self, table: &Table) -> Result<Desk, SqlError> {
        let runtime = self.runtime.clone().ok_or_else(|| {
            let message = "databases can only be asked while the program runs";
            SqlError::new(ErrorCode::XsqlInternal, message)
        })?;
        let connection = runtime.block_on(self.connect(table))?;
        Ok(Desk { connection, runtime })
    }
}

impl Desk {
    /// The connection.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Waits for the rows of a statement.
    pub(super) fn read(
        &self,
        text: &str,
        parameters: &[Parameter],
        caps: Caps,
    ) -> Result<Rows, SqlError> {
        self.runtime.block_on(self.connection.read(text, parameters, caps))
    }
}
