//! `[auth.jwt]`: access tokens of an identity provider.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

use super::urls::is_trusted_url;

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
}
