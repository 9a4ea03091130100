//! `vademecum client`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use vademecum_core::auth::KeyId;
use vademecum_model::Timestamp;
use vademecum_oauth::{AuthorizationServer, Grant, RegisteredClient};
use vademecum_services::text::format_count;

use super::{
    audit::{record_command, sanitize_columns},
    common::CommonOptions,
    output::print_line,
};
use crate::app::App;

/// List the clients that users admitted with a browser, and revoke them
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum client list
  vademecum client list --clients
  vademecum client revoke 0123456789abcdef
  vademecum client revoke https://claude.ai/oauth/mcp-oauth-client-metadata")]
pub(super) enum ClientCommand {
    /// List the grants: id, user, rights, validity, creation time, last use, destination of the
    /// answer, name of the client, further limits, id of the client
    List {
        /// List the clients that registered themselves instead: id, time, last use, name
        #[arg(long)]
        clients: bool,
    },
    /// Revoke a grant, or a client with all its grants; a running server rejects it from the next
    /// request on
    Revoke {
        /// Id of a grant or of a client, as shown by `client list`
        id: String,
    },
}

impl ClientCommand {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let server = authorization_server(&app)?;
        match self {
            Self::List { clients: false } => {
                for grant in server.list_grants(None)? {
                    print_line(&format_grant(&grant));
                }
            }
            Self::List { clients: true } => {
                for client in server.list_clients()? {
                    print_line(&format_client(&client));
                }
            }
            Self::Revoke { id } => {
                if let Ok(key) = id.parse::<KeyId>() {
                    let revoked = server.revoke_grant(&key, None);
                    let user = revoked.as_ref().ok().map(|grant| &grant.key.user);
                    record_command(&app, "client.revoke", user, Some(&key), revoked.is_ok());
                    revoked?;
                    print_line(&format!("revoked {id}"));
                } else {
                    let revoked = server.revoke_client(&id);
                    record_command(&app, "client.revoke", None, None, revoked.is_ok());
                    let count = format_count(revoked?, "grant");
                    print_line(&format!("revoked {id} with {count}"));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the authorization server of the settings, which need not serve at the moment.
pub(super) fn authorization_server(app: &App) -> Result<AuthorizationServer> {
    let server = app.authorization_server()?;
    server.context("this needs server.public_url in the settings: name them with --config FILE")
}

/// Formats a grant as one line with tab-separated columns.
fn format_grant(grant: &Grant) -> String {
    let key = &grant.key;
    let state = match (key.revoked_at, key.expires_at) {
        (Some(moment), _) => format!("revoked {moment}"),
        (None, Some(moment)) if key.has_expired(Timestamp::now()) => format!("expired {moment}"),
        (None, Some(moment)) => format!("expires {moment}"),
        (None, None) => "does not expire".to_owned(),
    };
    sanitize_columns(&[
        key.id.to_string(),
        key.user.to_string(),
        key.rights.to_string(),
        state,
        key.created_at.to_string(),
        key.last_used_at.map_or_else(|| "never used".to_owned(), |at| format!("used {at}")),
        grant.destination.clone(),
        key.name.clone(),
        key.scope.describe(),
        key.client_id.clone().unwrap_or_default(),
    ])
}

/// Formats a client as one line with tab-separated columns.
fn format_client(client: &RegisteredClient) -> String {
    sanitize_columns(&[
        client.id.clone(),
        client.created_at.to_string(),
        client.used_at.map_or_else(|| "never used".to_owned(), |at| format!("used {at}")),
        client.name.clone(),
    ])
}
