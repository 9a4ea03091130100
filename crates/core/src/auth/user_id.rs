//! User names.

use std::{fmt, str::FromStr, sync::Arc};

/// User name, which is also the name of the user's folder.
///
/// 1 to 64 characters: ASCII letters, digits, `.`, `-`, `_`, `@` and `+`, starting with a letter or
/// a digit. This rules out path traversal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(Arc<str>);

/// Error for a text that is not a valid user name.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a valid user name: use 1 to 64 letters (a-z, A-Z), digits, `.`, `-`, `_`, `@` or \
     `+`, starting with a letter or a digit"
)]
pub struct UserIdError(String);

impl UserId {
    const MAX_LEN: usize = 64;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for UserId {
    type Err = UserIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let begins = text.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-@+".contains(letter);
        if begins && text.len() <= Self::MAX_LEN && text.chars().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(UserIdError(text.chars().take(100).collect()))
        }
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_id_rejects_path_traversal() {
        for name in ["", ".", "..", "../x", "a/b", "a\\b", "-x", ".hidden", "a\0", "ü", "C:x"] {
            assert!(name.parse::<UserId>().is_err(), "{name:?}");
        }
        assert!("a".repeat(65).parse::<UserId>().is_err());
        for name in ["local", "1", "ada.lovelace", "Ada_1-2", "ada+1@example.com"] {
            assert_eq!(name.parse::<UserId>().unwrap().as_str(), name);
        }
    }
}
