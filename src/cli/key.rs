//! `vademecum key`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use secrecy::ExposeSecret as _;
use vademecum_kit::model::Timestamp;

use super::{
    audit::record_command,
    common::CommonOptions,
    output::{print_error, print_line},
};
use crate::app::App;
use vademecum_core::auth::{Accounts, KeyId, KeyRecord, KeyRequest, Right, UserId};

/// Create, list and revoke API keys
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum key create --user ada --name laptop --expires 90d
  vademecum key list
  vademecum key revoke 0123456789abcdef")]
pub(super) enum KeyCommand {
    /// Create a key and print it once: only its hash is stored
    Create(CreateKey),
    /// List the keys: id, user, scopes, validity, creation time, name
    List,
    /// Revoke a key; a running server rejects it from the next request on
    Revoke {
        /// Key id, as shown by `key list`
        id: KeyId,
    },
}

/// Options of `vademecum key create`.
#[derive(Debug, Args)]
pub(super) struct CreateKey {
    /// Scope of the key: read, write (includes read) or admin (includes all); can be repeated
    #[arg(long, value_name = "SCOPE", default_value = "read")]
    scope: Vec<Right>,
    /// Lifetime of the key, such as 12h, 90d or 1y [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires: Option<Duration>,
    /// Name of the key, to tell keys apart
    #[arg(long, default_value = "")]
    name: String,
    /// Let the key act for any user (header x-user-id) and add access tags (header x-session-tags):
    /// for a program that authenticates its users itself
    #[arg(long)]
    delegating: bool,
}

impl KeyCommand {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let accounts = app.accounts()?;
        match self {
            Self::Create(create) => create.run(&app, &accounts, common)?,
            Self::List => accounts.list_keys()?.iter().for_each(|key| print_line(&format_key(key))),
            Self::Revoke { id } => {
                let keys = accounts.list_keys()?;
                let user = keys.iter().find(|key| key.id == id).map(|key| &key.user);
                let revoked = accounts.revoke_key(&id);
                record_command(&app, "key.revoke", user, Some(&id), revoked.is_ok());
                revoked?;
                print_line(&format!("revoked {id}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl CreateKey {
    fn run(self, app: &App, accounts: &Accounts, common: &CommonOptions) -> Result<()> {
        let user =
            common.user.as_deref().context("a key needs a user; name one with --user NAME")?;
        let user: UserId = user.parse()?;
        let request = KeyRequest {
            user,
            name: self.name,
            rights: self.scope.into_iter().collect(),
            delegating: self.delegating,
            expires_at: self.expires.map(expiry_from_now).transpose()?,
        };
        let created = accounts.create_key(&request);
        let id = created.as_ref().ok().map(|(id, _)| id);
        record_command(app, "key.create", Some(&request.user), id, created.is_ok());
        let (id, key) = created?;
        print_error(&format!("key {id} of {}; it is shown only once:", request.user));
        print_line(key.expose_secret());
        Ok(())
    }
}

fn expiry_from_now(time: Duration) -> Result<Timestamp> {
    let end = Timestamp::now().as_unix_milliseconds() / 1_000.0 + time.as_secs_f64();
    Timestamp::from_unix_seconds(end).context("--expires is too far in the future")
}

/// Formats a key as one line with tab-separated columns.
fn format_key(key: &KeyRecord) -> String {
    let state = match (key.revoked_at, key.expires_at) {
        (Some(moment), _) => format!("revoked {moment}"),
        (None, Some(moment)) if key.has_expired(Timestamp::now()) => format!("expired {moment}"),
        (None, Some(moment)) => format!("expires {moment}"),
        (None, None) => "does not expire".to_owned(),
    };
    let delegating = if key.delegating { " delegating" } else { "" };
    format!(
        "{}\t{}\t{}{delegating}\t{state}\t{}\t{}",
        key.id, key.user, key.rights, key.created_at, key.name
    )
}
