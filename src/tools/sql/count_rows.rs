//! `count_rows`: how many rows a table has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    asked::{connect, while_wanted},
    told::read_only,
};
use crate::{
    actors::CallError,
    tools::{Contract, Replied, Toolbox},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::{Engine, guard, quoted};

/// Counts rows.
#[derive(Debug)]
pub struct CountRows;

/// Which rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRowsInput {
    /// The table.
    table: String,
    /// Its schema: `public`, unless said; of `MySQL` the database, of `SQLite` `main`.
    schema: Option<String>,
    /// A condition on one row, without the word WHERE.
    #[serde(rename = "where")]
    condition: Option<String>,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// How many there are.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountRowsOutput {
    /// The database.
    database: String,
    /// What was asked.
    query: String,
    /// How many rows there are.
    count: u64,
}

impl Contract for CountRows {
    const NAME: &'static str = "count_rows";
    const TITLE: &'static str = "Count rows";
    const DESCRIPTION: &'static str = "Count the rows of a table, all or those that meet a \
        condition.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Input = CountRowsInput;
    type Output = CountRowsOutput;

    async fn call(
        toolbox: &Toolbox,
        input: CountRowsInput,
        call: &Call,
    ) -> Result<Replied<CountRowsOutput>, CallError> {
        let connection = connect(toolbox, call, input.profile.as_deref()).await?;
        let query = input.statement(connection.engine()).map_err(read_only)?;
        let caps = connection.profile().caps();
        let rows = while_wanted(call, connection.read(&query, &[], caps)).await;
        let rows = rows.map_err(read_only)?;
        let count = rows.records().next().and_then(|record| record.text("n").parse().ok());
        let output = CountRowsOutput {
            database: connection.profile().name().to_owned(),
            query,
            count: count.ok_or(CallError::Unavailable)?,
        };
        let text = toolbox.text(|| output.text());
        Ok(Replied { output, text, meta: None })
    }
}

impl CountRowsInput {
    /// The statement that counts.
    fn statement(&self, engine: Engine) -> Result<String, CallError> {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        if self.table.is_empty() {
            let problem = "table: is empty; name one (get_schema_info tells which there are)";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        let schema = said(&self.schema).or_else(|| match engine {
            Engine::Postgres => Some("public".to_owned()),
            // That of the connection.
            Engine::MySql => None,
            Engine::Sqlite => Some("main".to_owned()),
        });
        let schema = schema.map(|schema| quoted(engine, &schema) + ".").unwrap_or_default();
        let mut statement =
            format!("SELECT count(*) AS n FROM {schema}{}", quoted(engine, &self.table));
        if let Some(condition) = said(&self.condition) {
            let condition = guard::condition(engine, &condition)?;
            statement = format!("{statement} WHERE ({})", condition.text());
        }
        Ok(statement)
    }
}

impl CountRowsOutput {
    fn text(&self) -> String {
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
        let input = CountRowsInput {
            table: table.to_owned(),
            schema: schema.map(str::to_owned),
            condition: condition.map(str::to_owned),
            profile: None,
        };
        input.statement(engine).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn names_are_quoted_as_their_engine_does() {
        for (engine, said) in [
            (Engine::Postgres, "SELECT count(*) AS n FROM \"public\".\"big\"\"table\""),
            (Engine::MySql, "SELECT count(*) AS n FROM `big\"table`"),
            (Engine::Sqlite, "SELECT count(*) AS n FROM `main`.`big\"table`"),
        ] {
            assert_eq!(statement(engine, "big\"table", None, Some(" ")), said);
        }
        let said = statement(Engine::MySql, "orders", Some("sales"), Some("status = 'pending'"));
        assert_eq!(said, "SELECT count(*) AS n FROM `sales`.`orders` WHERE (status = 'pending')");
    }

    #[test]
    fn a_condition_that_is_more_than_one_is_refused() {
        for condition in ["1=1) OR (SELECT 1", "id IN (SELECT 1)", "1=1; DROP TABLE t", "1 -- x"] {
            let said = statement(Engine::Postgres, "t", None, Some(condition));
            assert!(!said.starts_with("SELECT"), "{said}");
        }
    }
}
