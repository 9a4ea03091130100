//! The public identifier of a key or a grant.

use std::{fmt, str::FromStr, sync::Arc};

/// Public identifier of a key: 64 random bits as 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(Arc<str>);

/// Error for a text that is not a key id.
#[derive(Debug, thiserror::Error)]
#[error("not a key id: expected {} digits and letters a to f", KeyId::LENGTH)]
pub struct KeyIdError;

impl KeyId {
    const LENGTH: usize = 16;

    /// Generates an id from the random bits of the operating system.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut id = [0; Self::LENGTH / 2];
        getrandom::fill(&mut id)?;
        Ok(Self(format!("{:016x}", u64::from_be_bytes(id)).into()))
    }

    /// Returns the id as text.
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
            Ok(Self(text.into()))
        } else {
            Err(KeyIdError)
        }
    }
}
