//! Databases for collections of tables, with blocking access for ingest threads.

use std::sync::Arc;

use tokio::runtime::Handle;
use vademecum_core::{auth::Principal, config::CollectionTable};
use vademecum_sql::{
    Databases, ErrorCode, Parameter, ProfileConnection, QueryCaps, Rows, SqlError, guard,
};

/// Databases for collections of tables.
///
/// Each connection is made for a principal, who must be a user of the profile: the caller of a
/// tool, or the owner of the server for the commands.
#[derive(Clone, Debug)]
pub struct TableDatabases {
    databases: Arc<Databases>,
    /// Runtime that drives the connections. `None` if the value was created outside of a runtime.
    runtime: Option<Handle>,
}

/// A connection for threads that may block.
#[derive(Debug)]
pub(super) struct BlockingConnection {
    connection: ProfileConnection,
    runtime: Handle,
}

impl TableDatabases {
    /// Wraps the databases. Blocking connections exist only if this is called in a Tokio runtime.
    pub fn new(databases: Arc<Databases>) -> Self {
        Self { databases, runtime: Handle::try_current().ok() }
    }

    /// Returns true if `principal` may use the profile of a table.
    pub(super) fn is_permitted(&self, principal: &Principal, table: &CollectionTable) -> bool {
        self.databases.profiles().find_profile(principal, &table.profile).is_ok()
    }

    /// Connects to the database of a table. Fails if `principal` may not use its profile.
    pub async fn connect(
        &self,
        principal: &Principal,
        table: &CollectionTable,
    ) -> Result<ProfileConnection, SqlError> {
        self.databases.connect(principal, Some(&table.profile)).await
    }

    /// Checks profile and condition of a table without connecting.
    pub(super) fn check_table(
        &self,
        principal: &Principal,
        table: &CollectionTable,
    ) -> Result<(), SqlError> {
        let profile = self.databases.profiles().find_profile(principal, &table.profile)?;
        let condition = table.condition.as_deref();
        condition.map_or(Ok(()), |it| guard::check_condition(profile.engine(), it).map(drop))
    }

    /// Connects to the database of a table and blocks until then. Must not be called on a thread of
    /// the runtime.
    pub(super) fn connect_blocking(
        &self,
        principal: &Principal,
        table: &CollectionTable,
    ) -> Result<BlockingConnection, SqlError> {
        let runtime = self.runtime.clone().ok_or_else(|| {
            let message = "databases can only be queried while the server runs";
            SqlError::new(ErrorCode::XsqlInternal, message)
        })?;
        let connection = runtime.block_on(self.connect(principal, table))?;
        Ok(BlockingConnection { connection, runtime })
    }
}

impl BlockingConnection {
    /// Returns the connection.
    pub(super) fn connection(&self) -> &ProfileConnection {
        &self.connection
    }

    /// Executes a statement and blocks until its rows are read.
    pub(super) fn read_rows(
        &self,
        text: &str,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        self.runtime.block_on(self.connection.run_query(text, parameters, caps))
    }
}
