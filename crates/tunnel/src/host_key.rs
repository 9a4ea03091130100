//! Public key of an SSH host.

use std::{fmt, str::FromStr};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use ring::digest;

/// Public key of an SSH host. `Display` gives the form of a `known_hosts` file without the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostKey {
    algorithm: String,
    /// The key as sent by the host; begins with the algorithm.
    bytes: Vec<u8>,
}

impl HostKey {
    /// Parses the base64 text of a key. Returns `None` if it does not begin with an algorithm.
    pub(super) fn parse_base64(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let algorithm = std::str::from_utf8(rest.get(..length)?).ok()?.to_owned();
        let is_key = !algorithm.is_empty() && rest.len() > length;
        is_key.then_some(Self { algorithm, bytes })
    }

    /// Returns the algorithm, such as `ssh-ed25519`.
    pub(super) fn algorithm(&self) -> &str {
        &self.algorithm
    }

    /// Returns the SHA-256 fingerprint, in the format of `ssh-keygen -l`.
    pub(super) fn fingerprint(&self) -> String {
        let hash = digest::digest(&digest::SHA256, &self.bytes);
        format!("SHA256:{}", STANDARD_NO_PAD.encode(hash))
    }
}

impl FromStr for HostKey {
    type Err = ();

    /// Parses an algorithm and the base64 text of a key.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (algorithm, key) = text.split_once(' ').ok_or(())?;
        Self::parse_base64(key).filter(|key| key.algorithm == algorithm).ok_or(())
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.algorithm, STANDARD.encode(&self.bytes))
    }
}
