//! `vademecum user`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use super::{
    command::Common,
    output::{count, say},
};
use vademecum_core::auth::UserId;

/// The users of a server for many.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum user add ada
  vademecum user list")]
pub(super) enum User {
    /// Add a user
    Add {
        /// The name: letters, digits, `.`, `-` and `_`
        name: UserId,
    },
    /// List the users, and how many keys each has in force
    List,
}

impl User {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let accounts = common.app()?.accounts()?;
        match self {
            Self::Add { name } => {
                accounts.add_user(&name)?;
                say(&format!("added {name}"));
            }
            Self::List => {
                for user in accounts.users()? {
                    let keys = count(usize::try_from(user.keys).unwrap_or(0), "key");
                    say(&format!("{}\t{}\t{keys}", user.name, user.created_at));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
