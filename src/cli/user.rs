//! `vademecum user`.

use std::{
    fs,
    io::{BufRead as _, IsTerminal as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use console::Term;
use secrecy::{ExposeSecret as _, SecretString};
use vademecum_accounts::UserRecord;
use vademecum_core::{
    auth::{Right, UserId},
    config::Quotas,
};
use vademecum_model::Timestamp;
use vademecum_oauth::NewPassword;
use vademecum_services::{library_folders::take_from_archive, text::format_count};
use vademecum_store::create_private_folder;

use super::{
    audit::record_command,
    client::authorization_server,
    common::CommonOptions,
    output::{print_error, print_line},
};
use crate::app::App;

/// Add, list, suspend and remove the users of a multi-user server
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum user add ada
  vademecum user list
  vademecum user password ada
  vademecum user reset-second-factor ada
  vademecum user rights ada admin
  vademecum user quota ada --bytes 1000000000 --items 10000
  vademecum user suspend ada
  vademecum user remove ada --yes")]
pub(super) enum UserCommand {
    /// Add a user
    Add {
        /// Name of the user: letters, digits, `.`, `-` and `_`
        name: UserId,
    },
    /// List the users, with the number of valid keys and the state of each
    List,
    /// Set the password with which a user logs in to admit clients; it is read from standard input
    Password {
        /// Name of the user
        name: UserId,
        /// Remove the password instead
        #[arg(long)]
        remove: bool,
    },
    /// Remove the second factor and the passkeys of a user who has lost them, and end the user's
    /// logins in browsers
    ResetSecondFactor {
        /// Name of the user
        name: UserId,
    },
    /// Set the strongest right that a user may give to a client; clients that were admitted keep
    /// theirs
    Rights {
        /// Name of the user
        name: UserId,
        /// read, write (includes read) or admin (includes all)
        right: Right,
    },
    /// Refuse the keys and tokens of a user and end the user's sessions; the library stays
    Suspend {
        /// Name of the user
        name: UserId,
    },
    /// Accept the keys and tokens of a suspended user again
    Resume {
        /// Name of the user
        name: UserId,
    },
    /// Set the quotas of a user; without an option, those of the settings apply again
    Quota {
        /// Name of the user
        name: UserId,
        /// Maximum size of the library in bytes; 0 is unlimited
        #[arg(long)]
        bytes: Option<u64>,
        /// Maximum number of items; 0 is unlimited
        #[arg(long)]
        items: Option<u64>,
    },
    /// Remove a user with all keys, end the user's sessions, and move the library to `removed` in
    /// the data folder
    Remove {
        /// Name of the user
        name: UserId,
        /// Confirm the removal; without this option nothing is changed
        #[arg(long)]
        yes: bool,
        /// Delete the library instead of moving it
        #[arg(long)]
        delete_library: bool,
    },
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
                let users = accounts.list_users()?;
                if users.is_empty() {
                    print_error("There are no users: `vademecum user add NAME` adds one.");
                }
                for user in &users {
                    print_line(&format_user(user));
                }
            }
            Self::Password { name, remove } => {
                let password = if remove { None } else { Some(read_password(&name)?) };
                let set = authorization_server(&app)?.set_password(&name, password.as_ref());
                record_command(&app, "user.password", Some(&name), None, set.is_ok());
                set?;
                let done = if remove { "removed" } else { "set" };
                print_line(&format!("{done} the password of {name}"));
            }
            Self::ResetSecondFactor { name } => {
                let reset = authorization_server(&app)?.reset_second_factor(&name);
                let is_reset = matches!(reset, Ok(true));
                record_command(&app, "user.reset_second_factor", Some(&name), None, is_reset);
                if !reset? {
                    bail!("{name} has no second factor and no passkey");
                }
                print_line(&format!("removed the second factor and the passkeys of {name}"));
            }
            Self::Rights { name, right } => {
                let set = authorization_server(&app)?.set_grantable(&name, right);
                record_command(&app, "user.rights", Some(&name), None, set.is_ok());
                set?;
                print_line(&format!("{name} may give clients the right `{right}`"));
            }
            Self::Suspend { name } => {
                let suspended = accounts.suspend_user(&name);
                record_command(&app, "user.suspend", Some(&name), None, suspended.is_ok());
                suspended?;
                print_line(&format!("suspended {name}"));
            }
            Self::Resume { name } => {
                let resumed = accounts.resume_user(&name);
                record_command(&app, "user.resume", Some(&name), None, resumed.is_ok());
                resumed?;
                print_line(&format!("resumed {name}"));
            }
            Self::Quota { name, bytes, items } => {
                let quotas = Quotas { max_bytes: bytes, max_items: items };
                let set = accounts.set_quotas(&name, quotas);
                record_command(&app, "user.quota", Some(&name), None, set.is_ok());
                set?;
                print_line(&format!("set the quotas of {name}"));
            }
            Self::Remove { name, yes: false, .. } => {
                bail!("this removes {name} and all keys of {name}: run again with --yes")
            }
            Self::Remove { name, delete_library, .. } => {
                let library = app.user_registry().library_folder(&name);
                let removed = accounts.remove_user(&name);
                record_command(&app, "user.remove", Some(&name), None, removed.is_ok());
                removed?;
                take_from_archive(app.data(), &name, &library, !delete_library)
                    .context("cannot remove the library from the archive")?;
                let outcome = remove_library(&app, &library, delete_library)?;
                print_line(&format!("removed {name}; {outcome}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads a new password from standard input: twice without showing it on a terminal, otherwise one
/// line.
fn read_password(name: &UserId) -> Result<NewPassword> {
    let terminal = Term::stderr();
    let password = if std::io::stdin().is_terminal() {
        terminal.write_str(&format!("password of {name}: "))?;
        let first = SecretString::from(terminal.read_secure_line()?);
        terminal.write_str("once more: ")?;
        let second = SecretString::from(terminal.read_secure_line()?);
        if first.expose_secret() != second.expose_secret() {
            bail!("the two passwords differ: nothing was changed");
        }
        first
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("cannot read the password")?;
        SecretString::from(line.trim_end_matches(['\r', '\n']))
    };
    Ok(NewPassword::check(name, password)?)
}

/// Deletes the folder of a library, or moves it to the folder `removed`. Returns the outcome for the
/// operator.
fn remove_library(app: &App, library: &Path, delete: bool) -> Result<String> {
    if !library.exists() {
        return Ok("there was no library".to_owned());
    }
    let shown = library.display().to_string();
    if delete {
        fs::remove_dir_all(library).with_context(|| format!("cannot delete {shown}"))?;
        return Ok(format!("deleted {shown}"));
    }
    let removed = app.settings().storage.data_folder()?.join("removed");
    create_private_folder(&removed)?;
    let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let now = Timestamp::now().to_string().replace(':', "-");
    let target = removed.join(format!("{name} {now}"));
    fs::rename(library, &target)
        .with_context(|| format!("cannot move {shown} to {}", target.display()))?;
    Ok(format!("moved the library to {}", target.display()))
}

/// Formats a user as one line with tab-separated columns.
fn format_user(user: &UserRecord) -> String {
    let keys = format_count(usize::try_from(user.active_keys).unwrap_or(0), "key");
    let state = user.suspended_at.map(|since| format!("\tsuspended {since}")).unwrap_or_default();
    format!("{}\t{}\t{keys}{state}", user.name, user.created_at)
}
