//! `vademecum explain`.

use std::process::ExitCode;

use anyhow::Result;

use super::{
    command::Common,
    database::{Asking, statement},
};
use crate::sql::{Connection, Engine};

/// Tells how the database of a profile would run a query.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum explain --config settings.toml --profile shop \"SELECT * FROM orders\"
  vademecum explain --config settings.toml --profile shop --analyze \"SELECT * FROM orders\"

Ends with the codes of `vademecum query`.")]
pub(super) struct Explain {
    #[command(flatten)]
    asking: Asking,
    /// Run the query as well, and tell what that took; SQLite cannot
    #[arg(long)]
    analyze: bool,
    /// The query, or `-` for all of standard input
    #[arg(required = true, value_name = "SQL")]
    sql: Vec<String>,
}

impl Explain {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let Self { asking, analyze, sql } = self;
        let answer = async |connection: Connection| {
            let verb = match (connection.engine(), analyze) {
                (Engine::Postgres, true) => "EXPLAIN (ANALYZE, BUFFERS)",
                (Engine::MySql, true) => analyze_of(&connection).await?,
                (Engine::Postgres | Engine::MySql, false) => "EXPLAIN",
                (Engine::Sqlite, _) => "EXPLAIN QUERY PLAN",
            };
            let text = format!("{verb} {}", statement(&sql)?);
            let plan = connection.read(&text, &[], connection.profile().caps()).await?;
            asking.tell(&plan, None)
        };
        asking.with(common, answer).await
    }
}

/// `MariaDB` and `MySQL` have another word for it each.
async fn analyze_of(connection: &Connection) -> Result<&'static str> {
    let is_mariadb = connection.version().await?.contains("MariaDB");
    Ok(if is_mariadb { "ANALYZE" } else { "EXPLAIN ANALYZE" })
}
