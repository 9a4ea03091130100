//! `vademecum key`.

use std::{process::ExitCode, str::FromStr, time::Duration};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use secrecy::ExposeSecret as _;
use vademecum_accounts::{Accounts, KeyRecord, KeyRequest};
use vademecum_core::auth::{KeyId, KeyScope, Right, UserId};
use vademecum_model::{ContentOrigin, Timestamp};
use vademecum_services::text::sanitize;

use super::{
    audit::record_command,
    common::CommonOptions,
    output::{print_error, print_line},
};
use crate::app::App;

/// Lifetime of a key without `--expires`.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(365 * 24);

/// Create, list, rotate and revoke API keys
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum key create --user ada --name laptop --expires 90d
  vademecum key create --user ada --tools notes.search,notes.get --tags work
  vademecum key create --user ada --without-origins mail,web_page,feed
  vademecum key create --user gateway --delegating --users 'team-*' --tags 'department:*'
  vademecum key list
  vademecum key rotate 0123456789abcdef --grace 1d
  vademecum key revoke 0123456789abcdef")]
pub(super) enum KeyCommand {
    /// Create a key and print it once: only its hash is stored
    Create(Box<CreateKey>),
    /// List the keys and the grants of clients: id, user, scopes, validity, creation time, last use,
    /// name, further scope
    List,
    /// Replace the secret of a key and print the new key once
    Rotate {
        /// Key id, as shown by `key list`
        id: KeyId,
        /// Time for which the old secret is still accepted, such as 1h or 1d
        #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
        grace: Duration,
    },
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
    /// Lifetime of the key, such as 12h, 90d or 1y, or `never` [default: 365d]
    #[arg(long, value_name = "TIME")]
    expires: Option<Lifetime>,
    /// Name of the key, to tell keys apart
    #[arg(long, default_value = "")]
    name: String,
    /// Let the key act for other users (header x-user-id) and add access tags (header
    /// x-session-tags): for a program that authenticates its users itself
    #[arg(long)]
    delegating: bool,
    /// Tools that the key may call, such as notes.search,rag.*; `resources`, `prompts` and
    /// `completion` stand for those methods [default: all]
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// Sources that exist for the key: notes, media, chats, characters, prompts, collections,
    /// databases [default: all]
    #[arg(long, value_name = "SOURCES", value_delimiter = ',')]
    sources: Option<Vec<String>>,
    /// Collections that exist for the key [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    collections: Option<Vec<String>>,
    /// Only items with one of these tags exist for the key. With --delegating: access tags that it
    /// may pass on [default: all]
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// Only items in which everything is of one of these origins exist for the key: `own`,
    /// `imported_file`, `agent`, `unknown`, `database`, `shared_collection`, `feed`, `web_page`, `mail`
    /// [default: all]
    #[arg(long, value_name = "ORIGINS", value_delimiter = ',')]
    origins: Option<Vec<ContentOrigin>>,
    /// Items with something of one of these origins in them do not exist for the key, nor do those of
    /// which it is not known; the same as --origins with all others but unknown
    #[arg(long, value_name = "ORIGINS", value_delimiter = ',', conflicts_with = "origins")]
    without_origins: Option<Vec<ContentOrigin>>,
    /// With --delegating: users that the key may act for, such as 'team-*' [default: all]
    #[arg(long, value_name = "USERS", value_delimiter = ',', requires = "delegating")]
    users: Option<Vec<String>>,
}

/// Lifetime of a key.
#[derive(Clone, Copy, Debug)]
enum Lifetime {
    Never,
    For(Duration),
}

impl FromStr for Lifetime {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "never" => Ok(Self::Never),
            time => humantime::parse_duration(time).map(Self::For),
        }
    }
}

impl Lifetime {
    /// Returns the end of a lifetime that begins now.
    fn end(self) -> Result<Option<Timestamp>> {
        match self {
            Self::Never => Ok(None),
            Self::For(time) => {
                let end = Timestamp::now().plus(time);
                Ok(Some(end.context("--expires is too far in the future")?))
            }
        }
    }
}

impl KeyCommand {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let accounts = app.accounts()?;
        match self {
            Self::Create(create) => create.run(&app, &accounts, common)?,
            Self::List => accounts.list_keys()?.iter().for_each(|key| print_line(&format_key(key))),
            Self::Rotate { id, grace } => {
                let until = Timestamp::now().plus(grace).context("--grace is too long")?;
                let keys = accounts.list_keys()?;
                let user = keys.iter().find(|key| key.id == id).map(|key| &key.user);
                let rotated = accounts.rotate_key(&id, until);
                record_command(&app, "key.rotate", user, Some(&id), rotated.is_ok());
                let key = rotated?;
                let old = if grace.is_zero() {
                    "not valid any more".to_owned()
                } else {
                    format!("valid until {until}")
                };
                print_error(&format!("new key {id}, shown only once; the old one is {old}:"));
                print_line(key.expose_secret());
            }
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
        let (tags, session_tags) =
            if self.delegating { (None, self.tags) } else { (self.tags, None) };
        let origins = self.origins.or_else(|| Some(other_origins(&self.without_origins?)));
        let scope = KeyScope {
            tools: self.tools,
            sources: self.sources,
            collections: self.collections,
            tags,
            origins,
            users: self.users,
            session_tags,
        };
        scope.check().context("--sources")?;
        let request = KeyRequest {
            user,
            name: self.name,
            rights: self.scope.into_iter().collect(),
            delegating: self.delegating,
            scope,
            expires_at: self.expires.unwrap_or(Lifetime::For(DEFAULT_LIFETIME)).end()?,
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

/// Returns the origins of a key that must not see some.
fn other_origins(hidden: &[ContentOrigin]) -> Vec<ContentOrigin> {
    let is_known = |origin: &ContentOrigin| *origin != ContentOrigin::Unknown;
    let others = ContentOrigin::ALL.into_iter().filter(|origin| !hidden.contains(origin));
    others.filter(is_known).collect()
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
    let name = match &key.client_id {
        Some(_) => format!("client {}", sanitize(&key.name)),
        None => key.name.clone(),
    };
    let used = key.last_used_at.map_or_else(|| "never used".to_owned(), |at| format!("used {at}"));
    format!(
        "{}\t{}\t{}{delegating}\t{state}\t{}\t{used}\t{}\t{}",
        key.id,
        key.user,
        key.rights,
        key.created_at,
        name,
        key.scope.describe()
    )
}
