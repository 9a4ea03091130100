//! `[auth.jwt]`: access tokens of an identity provider.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{urls::is_trusted_url, validation::deserialize_validated};

/// Tokens (JWT) of an identity provider, in multi-user mode. With this section, set `algorithms`,
/// `issuer`, and one of `key_file`, `jwks_file` and `jwks_url`. The scopes read, write and admin
/// (`scope` or `scp`) define what a token allows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Jwt {
    /// Accepted signature algorithms. All others are rejected.
    #[schemars(example = ["RS256"])]
    pub algorithms: Vec<JwtAlgorithm>,
    /// File with a public key as PEM, or for HS256 with the secret, of at least 32 bytes.
    #[schemars(example = "/etc/vademecum/key.pem")]
    key_file: Option<PathBuf>,
    /// File with a key set (JWKS).
    #[schemars(example = "/etc/vademecum/jwks.json")]
    jwks_file: Option<PathBuf>,
    /// URL of a key set, over https, or over http on this machine.
    #[schemars(example = "https://id.example/jwks.json")]
    jwks_url: Option<String>,
    /// Age at which the key set is fetched again, and minimum time between two fetches, in seconds.
    /// A key that is removed from the set is invalid after this time, or while the set cannot be
    /// fetched, after one more hour.
    #[serde(default = "Jwt::default_pause_seconds")]
    jwks_pause_seconds: u32,
    /// Keys that verify signatures, from the settings above.
    #[serde(skip, default = "Jwt::unset_keys")]
    pub keys: KeySource,
    /// Issuer of the tokens (`iss`).
    #[schemars(example = "https://id.example")]
    pub issuer: String,
    /// Accepted audiences of tokens (`aud`). Default: `auth.resource`.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// Tolerated clock difference, in seconds.
    #[serde(default = "Jwt::default_leeway_seconds")]
    pub leeway_seconds: u32,
    /// Claim with the user name.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// Claim with the list of access tags.
    #[serde(default = "Jwt::default_tags_claim")]
    pub tags_claim: String,
    /// Users that are admitted, by the exact value of `user_claim`. If this list and
    /// `allowed_groups` are empty, every user of the identity provider is admitted.
    #[serde(default)]
    pub allowed_subjects: Vec<String>,
    /// Groups whose members are admitted.
    #[serde(default)]
    pub allowed_groups: Vec<String>,
    /// Claim with the list of groups of a user.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
}

/// Signature algorithm of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256 and a shared secret.
    HS256,
    /// RSA with SHA-256.
    RS256,
    /// ECDSA on the curve P-256.
    ES256,
    /// The Edwards curve Ed25519.
    EdDSA,
}

impl JwtAlgorithm {
    /// Returns the name in the header of a token, such as `RS256`.
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

deserialize_validated!(Jwt);

impl Jwt {
    fn default_pause_seconds() -> u32 {
        60
    }

    fn default_leeway_seconds() -> u32 {
        30
    }

    fn default_tags_claim() -> String {
        "tags".to_owned()
    }

    /// Returns a file without a path, until [`Jwt::validate`] replaces it.
    fn unset_keys() -> KeySource {
        KeySource::File(PathBuf::new())
    }

    /// Takes the location of the keys from the settings that name it.
    fn take_keys(&mut self) -> Result<KeySource, String> {
        match (self.key_file.take(), self.jwks_file.take(), self.jwks_url.take()) {
            (Some(file), None, None) => Ok(KeySource::File(file)),
            (None, Some(file), None) => Ok(KeySource::SetFile(file)),
            (None, None, Some(url)) if is_trusted_url(&url) => {
                let pause = Duration::from_secs(self.jwks_pause_seconds.into());
                Ok(KeySource::SetUrl { url, pause })
            }
            (None, None, Some(url)) => Err(format!(
                "jwks_url is `{url}`: it must begin with https://, or be on this machine"
            )),
            _ => Err("set one of key_file, jwks_file and jwks_url".to_owned()),
        }
    }

    fn validate(mut self) -> Result<Self, String> {
        self.keys = self.take_keys()?;
        match (&self.keys, self.algorithms.as_slice()) {
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
        if self.issuer.is_empty() || self.user_claim.is_empty() {
            return Err("issuer and user_claim must not be empty".to_owned());
        }
        Ok(self)
    }
}

/// Returns the default name of the claim with the user name.
pub(super) fn default_user_claim() -> String {
    "sub".to_owned()
}

/// Returns the default name of the claim with the groups of a user.
pub(super) fn default_groups_claim() -> String {
    "groups".to_owned()
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
