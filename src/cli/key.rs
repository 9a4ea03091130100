//! `vademecum key`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use secrecy::ExposeSecret as _;
use vademecum_kit::model::Timestamp;

use super::{
    command::Common,
    output::{complain, say},
};
use vademecum_core::auth::{Accounts, KeyId, KeyRecord, KeyRequest, Right, UserId};

/// API keys.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum key create --user ada --name laptop --expires 90d
  vademecum key list
  vademecum key revoke 0123456789abcdef")]
pub(super) enum Key {
    /// Make a key and print it, once: only its hash is kept
    Create(Create),
    /// List the keys: id, user, scopes, state, since when, name
    List,
    /// Revoke a key; a running server refuses it from the next request on
    Revoke {
        /// The id, as `key list` shows it
        id: KeyId,
    },
}

/// What a key is to be.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// What the key allows: read, write (and read) or admin (and all); may be given again
    #[arg(long, value_name = "SCOPE", default_value = "read")]
    scope: Vec<Right>,
    /// How long the key is valid, such as 12h, 90d or 1y [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires: Option<Duration>,
    /// What the key is for, to tell keys apart
    #[arg(long, default_value = "")]
    name: String,
    /// Let the key speak for any user (x-user-id) and bring access tags (x-session-tags):
    /// for a program that has found out itself who is there
    #[arg(long)]
    delegating: bool,
}

impl Key {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let accounts = common.app()?.accounts()?;
        match self {
            Self::Create(create) => create.run(&accounts, common)?,
            Self::List => accounts.keys()?.iter().for_each(|key| say(&line(key))),
            Self::Revoke { id } => {
                accounts.revoke(&id)?;
                say(&format!("revoked {id}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Create {
    fn run(self, accounts: &Accounts, common: &Common) -> Result<()> {
        let user = common.user.as_deref().context("whose key is it? say --user NAME")?;
        let user: UserId = user.parse()?;
        let request = KeyRequest {
            user,
            name: self.name,
            rights: self.scope.into_iter().collect(),
            delegating: self.delegating,
            expires_at: self.expires.map(from_now).transpose()?,
        };
        let (id, key) = accounts.create_key(&request)?;
        complain(&format!("key {id} of {}; it is shown only now:", request.user));
        say(key.expose_secret());
        Ok(())
    }
}

fn from_now(time: Duration) -> Result<Timestamp> {
    let end = Timestamp::now().as_unix_milliseconds() / 1_000.0 + time.as_secs_f64();
    Timestamp::from_unix_seconds(end).context("--expires: no calendar goes that far")
}

/// A key in one line.
fn line(key: &KeyRecord) -> String {
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
