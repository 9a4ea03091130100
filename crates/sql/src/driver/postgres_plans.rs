//! Plans of `PostgreSQL` statements that are not run, with and without hypothetical indexes.

use serde_json::Value;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::{
    Engine, ErrorCode, QueryCaps, SqlError,
    driver::{
        HypotheticalIndexes, error::invalid_response, postgres_error::statement_error,
        postgres_guard::StatementCheck,
    },
    guard::{ReadOnlyQuery, StatementKind},
    quote_identifier,
};

/// Returns the plan of a query without further indexes, then one with each set of indexes; `None`
/// for a set that cannot be created.
///
/// The query may have parameters, which the planner then takes as unknown. It is prepared under a
/// name, and indexes of hypopg last as long as the session, so the session must be closed after.
pub(super) async fn plan_statement(
    client: &Client,
    check: &StatementCheck,
    query: &ReadOnlyQuery,
    indexes: &HypotheticalIndexes,
    caps: QueryCaps,
) -> Result<Vec<Option<Value>>, SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    if query.kind() != StatementKind::Rows {
        let message = "only queries have plans; write the query without EXPLAIN or SHOW";
        return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message));
    }
    let checked = check.check_statement(client, query, caps).await?;
    let parameters = checked.plain.params().len();
    if parameters > 0 {
        let generic = "SET LOCAL plan_cache_mode = force_generic_plan";
        client.batch_execute(generic).await.map_err(failed)?;
    }
    let mut plans = vec![Some(explain(client, query, 0, parameters, caps).await?)];
    let function = |name: &str| {
        format!("{}.{name}", quote_identifier(Engine::Postgres, &indexes.extension_schema))
    };
    for (set, number) in indexes.sets.iter().zip(1..) {
        client.batch_execute("SAVEPOINT candidate").await.map_err(failed)?;
        let create = format!("SELECT 1 FROM {}($1::text)", function("hypopg_create_index"));
        let mut created = Ok(());
        for definition in set {
            if created.is_ok() {
                created = client.execute(&create, &[definition]).await.map(drop);
            }
        }
        if created.is_ok() {
            plans.push(explain(client, query, number, parameters, caps).await.ok());
        } else {
            plans.push(None);
        }
        client.batch_execute("ROLLBACK TO SAVEPOINT candidate").await.map_err(failed)?;
        let reset = format!("SELECT {}()", function("hypopg_reset"));
        client.execute(&reset, &[]).await.map_err(failed)?;
    }
    Ok(plans)
}

/// Prepares the query under a name of its own, so that no plan is reused, and returns its plan.
async fn explain(
    client: &Client,
    query: &ReadOnlyQuery,
    number: usize,
    parameters: usize,
    caps: QueryCaps,
) -> Result<Value, SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    // The extended protocol accepts one statement only, whatever the text is.
    let prepare = format!("PREPARE vademecum_plan_{number} AS {}", query.text());
    client.execute(&prepare, &[]).await.map_err(failed)?;
    let values = vec!["NULL"; parameters].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    let explain = format!("EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE vademecum_plan_{number}{values}");
    let answer = client.simple_query(&explain).await.map_err(failed)?;
    let text = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    serde_json::from_str(text.unwrap_or_default()).map_err(|fault| invalid_response(&fault))
}
