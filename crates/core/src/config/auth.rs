//! `[auth]`: authentication of clients.

use std::net::IpAddr;

use serde::Deserialize;

use super::{Jwt, Oidc, PublicUrl, ResourceUrl};

/// Authentication of clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// Single-user or multi-user mode.
    pub mode: AuthMode,
    /// Callers that are accepted in single-user mode.
    pub local: LocalAccess,
    /// Address by which clients know the server; the default audience of tokens.
    pub resource: Option<ResourceUrl>,
    /// Whether this server is an authorization server: users log in with a browser and admit clients,
    /// which get tokens of this server. Needs `server.public_url`.
    pub oauth: bool,
    /// Addresses from which metadata documents of clients are fetched.
    pub client_documents: ClientDocuments,
    /// Issuers of access tokens. By default, this server with `oauth`, and the issuer of `jwt`.
    pub authorization_servers: Vec<String>,
    /// Whether a token may be passed in the URL, as `access_token`. URLs end up in logs and
    /// histories.
    pub query_tokens: bool,
    /// Number of failed attempts of an address before it must wait, longer each time.
    pub free_attempts: u32,
    /// Reverse proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether callers of a single-user server may name another user and access tags. Such a user
    /// has no library.
    pub delegate_local: bool,
    /// Access tokens of an identity provider, if they are accepted.
    pub jwt: Option<Jwt>,
    /// Outside provider that logs users in, if there is one.
    pub oidc: Option<Oidc>,
}

/// Single-user or multi-user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// A single user without authentication, on this machine only.
    #[default]
    Single,
    /// Several users, each with an API key or an access token.
    Multi,
}

/// Callers on this machine that a server for a single user accepts over HTTP and WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalAccess {
    /// The account that runs the server, as reported by the system, and callers with the token in
    /// `local.token`.
    #[default]
    Account,
    /// Only who has the token.
    Token,
    /// Every account of this machine.
    Open,
}

/// Addresses from which the documents are fetched with which clients describe themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientDocuments {
    /// Addresses of the public internet.
    #[default]
    Public,
    /// All addresses, also over http from this machine.
    All,
    /// None: clients register themselves.
    Off,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            mode: AuthMode::Single,
            local: LocalAccess::Account,
            resource: None,
            oauth: false,
            client_documents: ClientDocuments::Public,
            authorization_servers: Vec::new(),
            query_tokens: false,
            free_attempts: 10,
            trusted_proxies: Vec::new(),
            delegate_local: false,
            jwt: None,
            oidc: None,
        }
    }
}

impl Auth {
    /// Returns the issuers of access tokens, for a server with this address.
    pub fn authorization_servers(&self, public_url: Option<&PublicUrl>) -> Vec<String> {
        if !self.authorization_servers.is_empty() {
            return self.authorization_servers.clone();
        }
        let own = public_url.filter(|_| self.oauth).map(|url| url.as_str().to_owned());
        own.into_iter().chain(self.jwt.as_ref().map(|jwt| jwt.issuer.clone())).collect()
    }
}
