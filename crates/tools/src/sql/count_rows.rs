//! `count_rows`: counts the rows of a table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::{Engine, guard, quote_identifier};

use super::{
    render::explain_read_only,
    sql_call::{connect_profile, run_until_cancelled},
};
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Counts the rows of a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRows {
    /// The table.
    table: String,
    /// Schema; default `public`, in `SQLite` `main`; in `MySQL` the database.
    schema: Option<String>,
    /// A condition on one row, without the word WHERE.
    #[serde(rename = "where")]
    condition: Option<String>,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// Result of `count_rows`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountRowsOutput {
    /// Name of the profile.
    database: String,
    /// Statement that was run.
    query: String,
    /// Number of rows.
    count: u64,
}

impl Tool for CountRows {
    const NAME: &'static str = "count_rows";
    const TITLE: &'static str = "Count rows";
    const DESCRIPTION: &'static str = "Count the rows of a table, all or those that meet a \
        condition.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Output = CountRowsOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let query = self.count_statement(connection.engine()).map_err(explain_read_only)?;
        let caps = connection.profile().query_caps();
        let rows = run_until_cancelled(call, connection.run_query(&query, &[], caps)).await;
        let rows = rows.map_err(explain_read_only)?;
        let count = rows.catalog_rows().next().and_then(|record| record.text("n").parse().ok());
        let output = CountRowsOutput {
            database: connection.profile().name().to_owned(),
            query,
            count: count.ok_or(CallError::Unavailable)?,
        };
        let text = services.text(|| output.render());
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl CountRows {
    /// Builds the `SELECT count(*)` statement.
    fn count_statement(&self, engine: Engine) -> Result<String, CallError> {
        let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        if self.table.is_empty() {
            let problem = "table: is empty; pass a table name (get_schema_info lists them)";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        let schema = non_empty(&self.schema).or_else(|| match engine {
            Engine::Postgres => Some("public".to_owned()),
            // The database of the connection.
            Engine::MySql => None,
            Engine::Sqlite => Some("main".to_owned()),
        });
        let schema =
            schema.map(|schema| quote_identifier(engine, &schema) + ".").unwrap_or_default();
        let mut statement =
            format!("SELECT count(*) AS n FROM {schema}{}", quote_identifier(engine, &self.table));
        if let Some(condition) = non_empty(&self.condition) {
            let condition = guard::check_condition(engine, &condition)?;
            statement = format!("{statement} WHERE ({})", condition.text());
        }
        Ok(statement)
    }
}

impl CountRowsOutput {
    fn render(&self) -> String {
        let Self { database, query, count } = self;
        format!("Database: {database}\n\nSQL Query:\n{query}\n\nCount: {count}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(
        engine: Engine,
        table: &str,
        schema: Option<&str>,
        condition: Option<&str>,
    ) -> String {
        let input = CountRows {
            table: table.to_owned(),
            schema: schema.map(str::to_owned),
            condition: condition.map(str::to_owned),
            profile: None,
        };
        input.count_statement(engine).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn names_are_quoted_for_their_engine() {
        for (engine, expected) in [
            (Engine::Postgres, "SELECT count(*) AS n FROM \"public\".\"big\"\"table\""),
            (Engine::MySql, "SELECT count(*) AS n FROM `big\"table`"),
            (Engine::Sqlite, "SELECT count(*) AS n FROM `main`.`big\"table`"),
        ] {
            assert_eq!(statement(engine, "big\"table", None, Some(" ")), expected);
        }
        let expected =
            statement(Engine::MySql, "orders", Some("sales"), Some("status = 'pending'"));
        assert_eq!(
            expected,
            "SELECT count(*) AS n FROM `sales`.`orders` WHERE (status = 'pending')"
        );
    }

    #[test]
    fn condition_with_other_clauses_is_rejected() {
        for condition in ["1=1) OR (SELECT 1", "id IN (SELECT 1)", "1=1; DROP TABLE t", "1 -- x"] {
            let error = statement(Engine::Postgres, "t", None, Some(condition));
            assert!(!error.starts_with("SELECT"), "{error}");
        }
    }
}
