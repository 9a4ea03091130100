//! `query`: runs a statement on the database of a profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::Rows;

use super::{
    envelope::Envelope,
    sql_call::{connect_profile, require_argument, require_profile, run_until_cancelled},
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Runs a statement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["sql", "profile"]))]
pub struct Query {
    /// One read-only statement.
    #[serde(default)]
    #[schemars(with = "String")]
    sql: Option<String>,
    /// The database.
    #[serde(default)]
    #[schemars(with = "String")]
    profile: Option<String>,
}

/// Result of `query`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryData {
    /// Column names in order; several columns may have the same name.
    columns: Vec<String>,
    /// Rows, each a list of values in the order of the columns.
    rows: Vec<Vec<Value>>,
    /// Whether more rows exist that a limit kept back.
    truncated: bool,
    /// If so: how to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_on: Option<String>,
    /// Number of changed rows, if the profile permits writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_affected: Option<u64>,
}

impl Tool for Query {
    const NAME: &'static str = "query";
    const TITLE: &'static str = "Query a database";
    const DESCRIPTION: &'static str = "Run one SQL statement on the database of a profile. It may \
        only read, unless the profile says otherwise.";
    const TOOLSET: Toolset = Toolset::Databases;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Envelope;
    const HAS_LONG_RESULTS: bool = true;
    type Output = Envelope<QueryData>;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let sql = require_argument("sql", self.sql)?;
        let profile = require_profile(services, call, self.profile)?;
        let connection = connect_profile(services, call, Some(&profile)).await?;
        let caps = connection.profile().query_caps();
        if services.may_write(call) && connection.profile().runs_as_write(&sql) {
            let written = run_until_cancelled(call, connection.run_write(&sql, &[], caps)).await?;
            let affected = Some(written.rows_affected);
            return Ok(Envelope::success(QueryData::new(written.rows, affected)));
        }
        let rows = run_until_cancelled(call, connection.run_query(&sql, &[], caps)).await?;
        Ok(Envelope::success(QueryData::new(rows, None)))
    }
}

impl QueryData {
    fn new(rows: Rows, rows_affected: Option<u64>) -> Self {
        let Rows { columns, rows, truncated } = rows;
        let columns = columns.into_iter().map(|column| column.name).collect();
        let read_on = truncated.then(|| {
            let count = rows.len();
            format!("the first {count} rows; select fewer columns, or sort and add OFFSET {count}")
        });
        Self { columns, rows, truncated, read_on, rows_affected }
    }
}
