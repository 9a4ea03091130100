//! `vademecum query`.

use std::process::ExitCode;

use anyhow::Result;

use super::{
    command::Common,
    database::{Asking, statement},
};
use crate::sql::{ErrorCode, SqlError};

/// Runs one statement on the database of a profile.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum query --config settings.toml --profile shop \"SELECT * FROM orders LIMIT 3\"
  vademecum query --config settings.toml --profile shop --format csv - < report.sql

Ends with 0 if all is well, with 2 if the settings or a secret are not right, with 3 if the
database cannot be reached, with 4 if the statement does more than read, with 5 if the database
does not run it, with 10 for a fault of this program.")]
pub(super) struct Query {
    #[command(flatten)]
    asking: Asking,
    /// Let the statement write, if the profile says `unsafe_allow_write` as well
    #[arg(long)]
    unsafe_allow_write: bool,
    /// The statement, or `-` for all of standard input
    #[arg(required = true, value_name = "SQL")]
    sql: Vec<String>,
}

impl Query {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let Self { asking, unsafe_allow_write, sql } = self;
        let answer = async |connection: crate::sql::Connection| {
            let (sql, caps) = (statement(&sql)?, connection.profile().caps());
            if !unsafe_allow_write {
                return asking.tell(&connection.read(&sql, &[], caps).await?, None);
            }
            if !connection.profile().unsafe_allow_write() {
                let message = "the profile does not let statements write; leave \
                               --unsafe-allow-write out, or set unsafe_allow_write = true in it";
                return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message).into());
            }
            let written = connection.write(&sql, caps).await?;
            asking.tell(&written.rows, Some(written.rows_affected))
        };
        asking.with(common, answer).await
    }
}
