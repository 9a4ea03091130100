//! `vademecum user`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use super::{audit::record_command, common::CommonOptions, output::print_line};
use crate::services::text::format_count;
use vademecum_core::auth::UserId;

/// Add and list the users of a multi-user server
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum user add ada
  vademecum user list")]
pub(super) enum UserCommand {
    /// Add a user
    Add {
        /// Name of the user: letters, digits, `.`, `-` and `_`
        name: UserId,
    },
    /// List the users, with the number of valid keys of each
    List,
}

impl UserCommand {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let accounts = app.accounts()?;
        match self {
            Self::Add { name } => {
                let added = accounts.add_user(&name);
                record_command(&app, "user.add", Some(&name), None, added.is_ok());
                added?;
                print_line(&format!("added {name}"));
            }
            Self::List => {
                for user in accounts.list_users()? {
                    let keys = format_count(usize::try_from(user.active_keys).unwrap_or(0), "key");
                    print_line(&format!("{}\t{}\t{keys}", user.name, user.created_at));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
