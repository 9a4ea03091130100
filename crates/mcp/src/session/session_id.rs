//! Identifiers of sessions.

use std::{fmt, sync::Arc};

use uuid::Uuid;

/// Session id with 122 random bits, or one that its client proposed. It identifies a session but grants no access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Generates an id from a random UUID, as 32 hexadecimal digits.
    pub(crate) fn generate() -> Self {
        Self(Uuid::new_v4().simple().to_string().into())
    }

    /// Wraps a session id that a client sent. It need not exist.
    pub fn from_client(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns whether an id that a client proposes has the form of one: 8 to 128 visible characters of ASCII.
    pub(crate) fn is_well_formed(&self) -> bool {
        (8..=128).contains(&self.0.len()) && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
