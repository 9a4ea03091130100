//! `query`: a statement for the database of a profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    asked::{connect, required, while_wanted},
    envelope::Envelope,
};
use crate::{
    actors::CallError,
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::Rows;

/// Runs a statement.
#[derive(Debug)]
pub struct Query;

/// Which statement, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["sql", "profile"]))]
pub struct QueryInput {
    /// One statement that reads.
    #[serde(default)]
    #[schemars(with = "String")]
    sql: Option<String>,
    /// The database.
    #[serde(default)]
    #[schemars(with = "String")]
    profile: Option<String>,
}

/// Rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryData {
    /// Their names, in order; several columns may have the same.
    columns: Vec<String>,
    /// Each a list of values in the order of the columns.
    rows: Vec<Vec<Value>>,
    /// Whether there are more, which a cap kept back.
    truncated: bool,
    /// Rows that were changed, where the profile lets statements write.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_affected: Option<u64>,
}

impl Contract for Query {
    const NAME: &'static str = "query";
    const TITLE: &'static str = "Query a database";
    const DESCRIPTION: &'static str = "Run one SQL statement on the database of a profile. It may \
        only read, unless the profile says otherwise.";
    const TOOLSET: Toolset = Toolset::Databases;
    const FORM: Form = Form::Enveloped;
    type Input = QueryInput;
    type Output = Envelope<QueryData>;

    async fn call(
        toolbox: &Toolbox,
        input: QueryInput,
        call: &Call,
    ) -> Result<Replied<Envelope<QueryData>>, CallError> {
        let sql = required("sql", input.sql)?;
        let profile = required("profile", input.profile)?;
        let connection = connect(toolbox, call, Some(&profile)).await?;
        let caps = connection.profile().caps();
        if toolbox.may_write(call) && connection.profile().unsafe_allow_write() {
            let written = while_wanted(call, connection.write(&sql, caps)).await?;
            let affected = Some(written.rows_affected);
            return Ok(Envelope::of(QueryData::new(written.rows, affected)));
        }
        let rows = while_wanted(call, connection.read(&sql, &[], caps)).await?;
        Ok(Envelope::of(QueryData::new(rows, None)))
    }
}

impl QueryData {
    fn new(rows: Rows, rows_affected: Option<u64>) -> Self {
        let Rows { columns, rows, truncated } = rows;
        let columns = columns.into_iter().map(|column| column.name).collect();
        Self { columns, rows, truncated, rows_affected }
    }
}
