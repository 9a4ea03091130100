//! Check of which tables of a `PostgreSQL` database reads through the guard can reach.

use tokio_postgres::Client;

use crate::{
    Engine, QueryCaps, SqlError,
    driver::{
        GuardReport, RefusedTable,
        postgres_error::statement_error,
        postgres_guard::{MAY_SET_LOG, StatementCheck},
    },
    guard,
};

const READABLE_TABLES: &str = include_str!("sql/postgres_readable_tables.sql");
/// Asks whether the level of the server's log leaves the reports of the check out.
const IS_QUIET: &str = "SELECT pg_catalog.current_setting('log_min_messages') IN ('fatal', 'panic'), \
     pg_catalog.current_setting('is_superuser') = 'on', \
     pg_catalog.current_setting('server_version_num')::pg_catalog.int4, \
     pg_catalog.quote_ident(current_user)";

/// Asks the server in an open transaction which tables the user may select.
pub(super) async fn list_tables(client: &Client, caps: QueryCaps) -> Result<Vec<String>, SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    client.batch_execute("SET LOCAL search_path = pg_catalog").await.map_err(failed)?;
    let rows = client.query(READABLE_TABLES, &[]).await.map_err(failed)?;
    let names = rows.iter().map(|row| row.try_get(0));
    names.collect::<Result<_, _>>().map_err(failed)
}

/// Checks a read of a whole table in an open transaction. Returns the reason if it is refused.
pub(super) async fn check_table(
    client: &Client,
    check: &StatementCheck,
    name: String,
    caps: QueryCaps,
) -> Option<RefusedTable> {
    let checked = async {
        let query = guard::check_query(Engine::Postgres, &format!("SELECT * FROM {name}"))?;
        check.check_statement(client, &query, caps).await
    };
    let error = checked.await.err()?;
    Some(RefusedTable { name, reason: error.message })
}

/// Returns the remedy if the reports of the check go to the server's log.
pub(super) async fn find_log_remedy(
    client: &Client,
    caps: QueryCaps,
) -> Result<Option<String>, SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    let row = client.query_one(IS_QUIET, &[]).await.map_err(failed)?;
    let (is_quiet, is_superuser): (bool, bool) =
        (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    let (version, user): (i32, String) =
        (row.try_get(2).map_err(failed)?, row.try_get(3).map_err(failed)?);
    if is_quiet || is_superuser {
        return Ok(None);
    }
    if version < 150_000 {
        return Ok(Some(format!("ALTER ROLE {user} SET log_min_messages = fatal")));
    }
    let may_set = client.query_one(MAY_SET_LOG, &[]).await.map_err(failed)?;
    let may_set: bool = may_set.try_get(0).map_err(failed)?;
    Ok((!may_set).then(|| format!("GRANT SET ON PARAMETER log_min_messages TO {user}")))
}

impl GuardReport {
    /// Returns a report of tables of which none was checked yet.
    pub(super) fn new(tables: usize, log_remedy: Option<String>) -> Self {
        Self { tables, refused: Vec::new(), log_remedy }
    }
}
