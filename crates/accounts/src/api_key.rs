//! API keys: generation, parsing and the stored digest.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use vademecum_core::auth::KeyId;

/// Prefix of every key. Lets secret scanners find leaked keys.
const KEY_PREFIX: &str = "vdm_";

/// Full key as its owner holds it: `vdm_<id>_<secret>`.
#[derive(Debug)]
pub(super) struct ApiKey {
    pub(super) id: KeyId,
    text: SecretString,
}

impl ApiKey {
    /// Length of the secret: 256 bits in unpadded URL-safe base64.
    const SECRET_LEN: usize = 43;

    /// Generates a key from the random bits of the operating system.
    pub(super) fn generate() -> Result<Self, getrandom::Error> {
        Self::generate_for(KeyId::generate()?)
    }

    /// Generates a key with this identifier.
    pub(super) fn generate_for(id: KeyId) -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let text = format!("{KEY_PREFIX}{id}_{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
        Ok(Self { id, text: text.into() })
    }

    /// Returns true if the token starts with the key prefix, well-formed or not.
    pub(super) fn has_key_prefix(token: &SecretString) -> bool {
        token.expose_secret().starts_with(KEY_PREFIX)
    }

    /// Parses a key. Returns `None` if the token is malformed.
    pub(super) fn parse(token: &SecretString) -> Option<Self> {
        let rest = token.expose_secret().strip_prefix(KEY_PREFIX)?;
        let (id, secret) = rest.split_once('_')?;
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let whole = secret.len() == Self::SECRET_LEN && secret.bytes().all(is_base64);
        whole.then_some(Self { id: id.parse().ok()?, text: token.clone() })
    }

    /// Returns the full text of the key, for display to its owner.
    pub(super) fn into_secret(self) -> SecretString {
        self.text
    }

    /// Returns the digest to store.
    pub(super) fn digest(&self) -> KeyDigest {
        KeyDigest(Sha256::digest(self.text.expose_secret()).into())
    }
}

/// SHA-256 of a key. The key has 256 random bits, so neither a slow hash nor a salt is needed.
#[derive(Clone)]
pub(super) struct KeyDigest([u8; 32]);

impl fmt::Debug for KeyDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyDigest")
    }
}

impl KeyDigest {
    /// Wraps a stored digest.
    pub(super) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Compares in constant time.
    pub(super) fn constant_time_eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_round_trips_through_text() {
        let key = ApiKey::generate().unwrap();
        let (id, digest) = (key.id.clone(), key.digest());
        let text = key.into_secret();
        let read = ApiKey::parse(&text).unwrap();
        assert!(read.id == id && read.digest().constant_time_eq(&digest));
        assert!(!format!("{read:?}").contains(text.expose_secret()));
    }

    #[test]
    fn generated_keys_are_unique() {
        let (one, other) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
        assert!(one.id != other.id && !one.digest().constant_time_eq(&other.digest()));
    }

    #[test]
    fn parse_rejects_malformed_keys() {
        let text = ApiKey::generate().unwrap().into_secret();
        let text = text.expose_secret();
        let other = text.replacen("vdm_", "xyz_", 1);
        for wrong in ["", "vdm_", "vdm__", &text[..text.len() - 1], &format!("{text}a"), &other] {
            assert!(ApiKey::parse(&wrong.into()).is_none(), "{wrong}");
        }
    }
}
