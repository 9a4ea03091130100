//! `[auth]`: authentication of clients.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use serde::Deserialize;
use ureq::http::Uri;

use super::{Oidc, PublicUrl};

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

/// Verification of access tokens (JWT) of an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "JwtTable")]
pub struct Jwt {
    /// Accepted signature algorithms. The algorithm in a token must be one of them.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Keys that verify signatures.
    pub keys: KeySource,
    /// Required issuer (`iss`).
    pub issuer: String,
    /// Accepted audiences (`aud`); by default, `resource`.
    pub audiences: Vec<String>,
    /// Tolerated clock difference, in seconds.
    pub leeway_seconds: u32,
    /// Claim with the user name.
    pub user_claim: String,
    /// Claim with the list of access tags.
    pub tags_claim: String,
    /// Names of the users that are admitted, as `user_claim` states them.
    pub allowed_subjects: Vec<String>,
    /// Groups whose members are admitted. If both lists are empty, all users are admitted.
    pub allowed_groups: Vec<String>,
    /// Claim with the list of groups.
    pub groups_claim: String,
}

/// Signature algorithm of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256 and a shared secret.
    HS256,
    /// RSA with SHA-256.
    RS256,
    /// ECDSA on the curve P-256.
    ES256,
    /// `EdDSA` with Ed25519.
    EdDSA,
}

impl JwtAlgorithm {
    /// Returns the name in the `alg` header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HS256 => "HS256",
            Self::RS256 => "RS256",
            Self::ES256 => "ES256",
            Self::EdDSA => "EdDSA",
        }
    }
}

/// Location of the keys that verify signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file with one key: a public key as PEM, or the shared secret for HS256.
    File(PathBuf),
    /// A file with a JSON Web Key Set.
    SetFile(PathBuf),
    /// A JSON Web Key Set that is fetched over HTTP.
    SetUrl {
        /// Its address: https, or http on this machine.
        url: String,
        /// Age at which the set is fetched again, and minimum time between two fetches. An unknown
        /// key triggers one.
        pause: Duration,
    },
}

/// `[auth.jwt]` as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JwtTable {
    algorithms: Vec<JwtAlgorithm>,
    key_file: Option<PathBuf>,
    jwks_file: Option<PathBuf>,
    jwks_url: Option<String>,
    jwks_pause_seconds: Option<u32>,
    issuer: String,
    #[serde(default)]
    audiences: Vec<String>,
    #[serde(default = "JwtTable::leeway_seconds")]
    leeway_seconds: u32,
    #[serde(default = "JwtTable::user_claim")]
    user_claim: String,
    #[serde(default = "JwtTable::tags_claim")]
    tags_claim: String,
    #[serde(default)]
    allowed_subjects: Vec<String>,
    #[serde(default)]
    allowed_groups: Vec<String>,
    #[serde(default = "JwtTable::groups_claim")]
    groups_claim: String,
}

impl JwtTable {
    const PAUSE_SECONDS: u32 = 60;

    fn leeway_seconds() -> u32 {
        30
    }

    fn user_claim() -> String {
        "sub".to_owned()
    }

    fn tags_claim() -> String {
        "tags".to_owned()
    }

    fn groups_claim() -> String {
        "groups".to_owned()
    }

    fn key_source(&mut self) -> Result<KeySource, String> {
        let pause = self.jwks_pause_seconds.unwrap_or(Self::PAUSE_SECONDS);
        match (self.key_file.take(), self.jwks_file.take(), self.jwks_url.take()) {
            (Some(file), None, None) => Ok(KeySource::File(file)),
            (None, Some(file), None) => Ok(KeySource::SetFile(file)),
            (None, None, Some(url)) if is_trusted_url(&url) => {
                Ok(KeySource::SetUrl { url, pause: Duration::from_secs(pause.into()) })
            }
            (None, None, Some(url)) => Err(format!(
                "jwks_url is `{url}`: it must begin with https://, or be on this machine"
            )),
            _ => Err("set one of key_file, jwks_file and jwks_url".to_owned()),
        }
    }
}

impl TryFrom<JwtTable> for Jwt {
    type Error = String;

    fn try_from(mut table: JwtTable) -> Result<Self, String> {
        let keys = table.key_source()?;
        match (&keys, table.algorithms.as_slice()) {
            (_, []) => return Err("algorithms: name at least one".to_owned()),
            (KeySource::File(_), [_, _, ..]) => {
                return Err(
                    "algorithms: key_file holds one key; name only its algorithm".to_owned()
                );
            }
            (KeySource::SetFile(_) | KeySource::SetUrl { .. }, algorithms)
                if algorithms.contains(&JwtAlgorithm::HS256) =>
            {
                return Err("algorithms: HS256 needs a secret in key_file".to_owned());
            }
            _ => {}
        }
        if table.issuer.is_empty() || table.user_claim.is_empty() {
            return Err("issuer and user_claim must not be empty".to_owned());
        }
        Ok(Self {
            algorithms: table.algorithms,
            keys,
            issuer: table.issuer,
            audiences: table.audiences,
            leeway_seconds: table.leeway_seconds,
            user_claim: table.user_claim,
            tags_claim: table.tags_claim,
            allowed_subjects: table.allowed_subjects,
            allowed_groups: table.allowed_groups,
            groups_claim: table.groups_claim,
        })
    }
}

/// Returns whether keys fetched from `url` cannot be replaced on the way: https, or http on this
/// machine.
pub(super) fn is_trusted_url(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(host)) => matches!(host, "localhost" | "127.0.0.1" | "[::1]"),
        _ => false,
    }
}

/// Address by which clients know the server, without query and fragment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ResourceUrl {
    text: String,
    origin: String,
    host: String,
    path: String,
}

impl ResourceUrl {
    /// Returns the full address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the URL of the protected resource metadata (RFC 9728).
    pub fn metadata_url(&self) -> String {
        let path = self.path.trim_end_matches('/');
        format!("{}/.well-known/oauth-protected-resource{path}", self.origin)
    }
}

impl fmt::Display for ResourceUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for ResourceUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not an address such as https://knowledge.example/mcp, without ? and #"
            )
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err(wrong());
        };
        if text.contains(['?', '#', '@', '"', '\\']) {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
            origin: format!("{scheme}://{authority}"),
            host: authority.host().to_owned(),
            path: uri.path().to_owned(),
        })
    }
}

impl TryFrom<String> for ResourceUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "issuer = \"https://id.example\"\n";

    fn jwt(text: &str) -> Result<Jwt, String> {
        toml::from_str(&format!("{ISSUER}{text}")).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_have_one_tamper_proof_source() {
        let rsa = "algorithms = [\"RS256\"]\n";
        for (keys, problem) in [
            ("", "set one of"),
            ("key_file = \"a\"\njwks_file = \"b\"", "set one of"),
            ("jwks_url = \"http://id.example/keys\"", "https://"),
            ("jwks_url = \"http://localhost.evil.example/keys\"", "https://"),
            ("jwks_url = \"file:///etc/passwd\"", "https://"),
        ] {
            let error = jwt(&format!("{rsa}{keys}")).unwrap_err();
            assert!(error.contains(problem), "{keys}: {error}");
        }
        for keys in [
            "key_file = \"a\"",
            "jwks_file = \"b\"",
            "jwks_url = \"https://id.example/keys\"",
            "jwks_url = \"http://127.0.0.1:8080/keys\"",
        ] {
            assert!(jwt(&format!("{rsa}{keys}")).is_ok(), "{keys}");
        }
    }

    #[test]
    fn algorithms_must_match_key_source() {
        for (text, problem) in [
            ("algorithms = []\nkey_file = \"a\"", "at least one"),
            ("algorithms = [\"none\"]\nkey_file = \"a\"", "none"),
            ("algorithms = [\"HS256\", \"RS256\"]\nkey_file = \"a\"", "key_file holds one key"),
            ("algorithms = [\"HS256\"]\njwks_file = \"a\"", "HS256"),
            ("algorithms = [\"RS256\"]\nkey_file = \"a\"\nkeyfile = \"b\"", "keyfile"),
        ] {
            let error = jwt(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn metadata_url_keeps_resource_path() {
        let metadata = |text: &str| text.parse::<ResourceUrl>().map(|it| it.metadata_url());
        let base = "https://a.example:8443/.well-known/oauth-protected-resource";
        assert_eq!(metadata("https://a.example:8443/mcp"), Ok(format!("{base}/mcp")));
        assert_eq!(metadata("https://a.example:8443/kb/mcp"), Ok(format!("{base}/kb/mcp")));
        assert_eq!(metadata("https://a.example:8443"), Ok(base.to_owned()));
        for wrong in ["", "/mcp", "a.example/mcp", "ftp://a/mcp", "https://a/mcp?x", "https://a/#x"]
        {
            assert!(metadata(wrong).is_err(), "{wrong}");
        }
    }
}
