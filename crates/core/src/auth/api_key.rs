//! API keys: how one is made and read, and what is kept of it.

use std::{fmt, str::FromStr};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// What every key begins with, so that one in the wrong place can be found.
const PREFIX: &str = "vdm_";

/// The name of a key: 64 random bits, no secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(String);

/// Says that a text is not the name of a key.
#[derive(Debug, thiserror::Error)]
#[error("not the id of a key: expected {} digits and letters a to f", KeyId::LENGTH)]
pub struct KeyIdError;

impl KeyId {
    const LENGTH: usize = 16;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for KeyId {
    type Err = KeyIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == Self::LENGTH && text.bytes().all(is_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(KeyIdError)
        }
    }
}

/// A key as its owner has it: `vdm_<id>_<secret>`.
#[derive(Debug)]
pub(super) struct ApiKey {
    pub(super) id: KeyId,
    text: SecretString,
}

impl ApiKey {
    /// 256 bits, in base64.
    const SECRET: usize = 43;

    /// Makes a key from random bits of the operating system.
    pub(super) fn mint() -> Result<Self, getrandom::Error> {
        let (mut id, mut secret) = ([0; KeyId::LENGTH / 2], [0; 32]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        let id = KeyId(format!("{:016x}", u64::from_be_bytes(id)));
        let text = format!("{PREFIX}{id}_{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
        Ok(Self { id, text: text.into() })
    }

    /// Whether a token wants to be a key, well-formed or not.
    pub(super) fn is_meant(token: &SecretString) -> bool {
        token.expose_secret().starts_with(PREFIX)
    }

    /// Reads a key.
    pub(super) fn parse(token: &SecretString) -> Option<Self> {
        let rest = token.expose_secret().strip_prefix(PREFIX)?;
        let (id, secret) = rest.split_once('_')?;
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let whole = secret.len() == Self::SECRET && secret.bytes().all(is_base64);
        whole.then_some(Self { id: id.parse().ok()?, text: token.clone() })
    }

    /// The key as its owner is shown it, once.
    pub(super) fn into_text(self) -> SecretString {
        self.text
    }

    /// What is kept of the key.
    pub(super) fn digest(&self) -> KeyDigest {
        KeyDigest(Sha256::digest(self.text.expose_secret()).into())
    }
}

/// What is kept of a key: its SHA-256. There is no need for a slow hash, as
/// nobody can try 2^256 keys, and none for salt, as no two keys are alike.
#[derive(Clone)]
pub(super) struct KeyDigest([u8; 32]);

impl fmt::Debug for KeyDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyDigest")
    }
}

impl KeyDigest {
    /// A digest as it was kept.
    pub(super) fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest as it is kept.
    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether they are the same; takes as long if they are not.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_made() {
        let key = ApiKey::mint().unwrap();
        let (id, digest) = (key.id.clone(), key.digest());
        let text = key.into_text();
        let read = ApiKey::parse(&text).unwrap();
        assert!(read.id == id && read.digest().is(&digest));
        assert!(!format!("{read:?}").contains(text.expose_secret()));
    }

    #[test]
    fn no_two_keys_are_alike() {
        let (one, other) = (ApiKey::mint().unwrap(), ApiKey::mint().unwrap());
        assert!(one.id != other.id && !one.digest().is(&other.digest()));
    }

    #[test]
    fn what_is_no_key_is_not_read() {
        let text = ApiKey::mint().unwrap().into_text();
        let text = text.expose_secret();
        let other = text.replacen("vdm_", "xyz_", 1);
        for wrong in ["", "vdm_", "vdm__", &text[..text.len() - 1], &format!("{text}a"), &other] {
            assert!(ApiKey::parse(&wrong.into()).is_none(), "{wrong}");
        }
    }
}
