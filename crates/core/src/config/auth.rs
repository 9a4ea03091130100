//! Who may come in.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use serde::Deserialize;
use ureq::http::Uri;

/// Who may come in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// Whether the server is for one user, or for many who show who they are.
    pub mode: Mode,
    /// The address that clients know the server by; tokens must be made for it.
    pub resource: Option<ResourceUrl>,
    /// Where clients get tokens. Without any, the issuer of `jwt`.
    pub authorization_servers: Vec<String>,
    /// Whether a token may stand in the address, as `access_token`. It ends up
    /// in logs and histories there.
    pub query_tokens: bool,
    /// Failed attempts that an address has before it must wait, longer each time.
    pub free_attempts: u32,
    /// Reverse proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Tokens of an identity provider, if they are accepted.
    pub jwt: Option<Jwt>,
}

/// Whether the server is for one user, or for many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// For one, who is asked for nothing. This machine only.
    #[default]
    Single,
    /// For many, each with an API key or a token.
    Multi,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            mode: Mode::Single,
            resource: None,
            authorization_servers: Vec::new(),
            query_tokens: false,
            free_attempts: 10,
            trusted_proxies: Vec::new(),
            jwt: None,
        }
    }
}

impl Auth {
    /// Where clients get tokens.
    pub fn authorization_servers(&self) -> Vec<String> {
        match &self.jwt {
            Some(jwt) if self.authorization_servers.is_empty() => vec![jwt.issuer.clone()],
            Some(_) | None => self.authorization_servers.clone(),
        }
    }
}

/// Tokens of an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "JwtTable")]
pub struct Jwt {
    /// How tokens may be signed. What a token says of itself is not believed.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Where the keys are that signatures are checked with.
    pub keys: KeySource,
    /// Who makes the tokens (`iss`).
    pub issuer: String,
    /// For whom tokens are made (`aud`); without any, for `resource`.
    pub audiences: Vec<String>,
    /// How far clocks may be apart, in seconds.
    pub leeway_seconds: u32,
    /// The claim that names the user.
    pub user_claim: String,
    /// The claim that lists access tags.
    pub tags_claim: String,
}

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum JwtAlgorithm {
    /// With a secret that both sides know.
    HS256,
    /// With an RSA key.
    RS256,
    /// With a key on the curve P-256.
    ES256,
    /// With an Ed25519 key.
    EdDSA,
}

impl JwtAlgorithm {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HS256 => "HS256",
            Self::RS256 => "RS256",
            Self::ES256 => "ES256",
            Self::EdDSA => "EdDSA",
        }
    }
}

/// Where the keys are that signatures are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// One key: a public one as PEM, or for HS256 the secret itself.
    File(PathBuf),
    /// A key set in a file.
    SetFile(PathBuf),
    /// A key set that is fetched.
    SetUrl {
        /// From where: https, or http on this machine.
        url: String,
        /// How long to wait after a fetch before an unknown key leads to another.
        pause: Duration,
    },
}

/// `[auth.jwt]` as it is written.
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

    fn source(&mut self) -> Result<KeySource, String> {
        let pause = self.jwks_pause_seconds.unwrap_or(Self::PAUSE_SECONDS);
        match (self.key_file.take(), self.jwks_file.take(), self.jwks_url.take()) {
            (Some(file), None, None) => Ok(KeySource::File(file)),
            (None, Some(file), None) => Ok(KeySource::SetFile(file)),
            (None, None, Some(url)) if is_safe_to_fetch(&url) => {
                Ok(KeySource::SetUrl { url, pause: Duration::from_secs(pause.into()) })
            }
            (None, None, Some(url)) => Err(format!(
                "jwks_url is `{url}`: it must begin with https://, or lead to this machine"
            )),
            _ => Err("set one of key_file, jwks_file and jwks_url".to_owned()),
        }
    }
}

impl TryFrom<JwtTable> for Jwt {
    type Error = String;

    fn try_from(mut table: JwtTable) -> Result<Self, String> {
        let keys = table.source()?;
        match (&keys, table.algorithms.as_slice()) {
            (_, []) => return Err("algorithms: name at least one".to_owned()),
            (KeySource::File(_), [_, _, ..]) => {
                return Err("algorithms: the one key in key_file is for one of them".to_owned());
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
        })
    }
}

/// Whether nobody on the way can put other keys in the place of those fetched.
fn is_safe_to_fetch(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(host)) => matches!(host, "localhost" | "127.0.0.1" | "[::1]"),
        _ => false,
    }
}

/// The address that clients know the server by.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ResourceUrl {
    text: String,
    origin: String,
    host: String,
    path: String,
}

impl ResourceUrl {
    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name in it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path in it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where its metadata are, as RFC 9728 puts them.
    pub fn metadata(&self) -> String {
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
            format!("`{text}` is no address such as https://knowledge.example/mcp, without ? and #")
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
    fn keys_come_from_one_place_that_nobody_can_tamper_with() {
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
    fn algorithms_fit_the_keys() {
        for (text, problem) in [
            ("algorithms = []\nkey_file = \"a\"", "at least one"),
            ("algorithms = [\"none\"]\nkey_file = \"a\"", "none"),
            ("algorithms = [\"HS256\", \"RS256\"]\nkey_file = \"a\"", "one of them"),
            ("algorithms = [\"HS256\"]\njwks_file = \"a\"", "HS256"),
            ("algorithms = [\"RS256\"]\nkey_file = \"a\"\nkeyfile = \"b\"", "keyfile"),
        ] {
            let error = jwt(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn metadata_are_beside_the_resource() {
        let metadata = |text: &str| text.parse::<ResourceUrl>().map(|it| it.metadata());
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
