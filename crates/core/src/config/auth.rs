//! `[auth]`: authentication of clients.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Jwt, Oidc, PublicUrl, ResourceUrl};

/// Authentication.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// Users of the server.
    pub mode: AuthMode,
    /// Callers that mode `"single"` accepts over HTTP and WebSocket.
    pub local: LocalAccess,
    /// Public address of the server. Tokens must be issued for it (`aud`), and clients use it to
    /// discover where to get tokens. Default with `oauth`: /mcp below `server.public_url`.
    #[schemars(example = "https://knowledge.example/mcp")]
    pub resource: Option<ResourceUrl>,
    /// Whether this server is an authorization server (OAuth 2.1) at `server.public_url`, so that
    /// claude.ai, ChatGPT and other clients can ask for access: users log in with a browser and
    /// admit them. In mode `"single"` all callers then need a credential, as with `local`
    /// `"token"`.
    pub oauth: bool,
    /// Addresses from which the documents are fetched with which clients describe themselves; users
    /// choose these addresses.
    pub client_documents: ClientDocuments,
    /// Authorization servers that issue tokens. Default: this server with `oauth`, and the issuer
    /// of `[auth.jwt]`.
    pub authorization_servers: Vec<String>,
    /// Whether a token may be passed in the URL, as `?access_token=`. URLs end up in logs and
    /// histories: only for clients that support nothing else.
    pub query_tokens: bool,
    /// Failed attempts per address before it is blocked, for longer each time.
    pub free_attempts: u32,
    /// Reverse proxies whose X-Forwarded-For header is trusted, such as `"127.0.0.1"`.
    pub trusted_proxies: Vec<IpAddr>,
    /// In mode `"single"`: whether programs on this machine may send `x-user-id` and
    /// `x-session-tags`, as gateways do. A user other than the local one has no library and sees
    /// collections by these tags.
    pub delegate_local: bool,
    /// Access tokens of an identity provider, if they are accepted.
    pub jwt: Option<Jwt>,
    /// Outside provider that logs users in, if there is one.
    pub oidc: Option<Oidc>,
}

/// Single-user or multi-user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// One user without authentication, on this machine only.
    #[default]
    Single,
    /// Many users, each with an API key (`vademecum user add`, `vademecum key create`) or a token.
    Multi,
}

/// Callers on this machine that a server for a single user accepts over HTTP and WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocalAccess {
    /// The account that runs the server, by the owner of the connecting socket on Linux; elsewhere,
    /// and for others, the token in the file `local.token` of the data folder (`Authorization:
    /// Bearer`), which `vademecum connect --http` writes by itself.
    #[default]
    Account,
    /// Only callers with the token.
    Token,
    /// Every account and program of this machine, so that everyone who can log in here reads the
    /// library.
    Open,
}

/// Addresses from which the documents are fetched with which clients describe themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientDocuments {
    /// Addresses of the public internet.
    #[default]
    Public,
    /// Also those of private networks, and over http from this machine.
    All,
    /// None, for a server without access to the internet; clients register.
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
