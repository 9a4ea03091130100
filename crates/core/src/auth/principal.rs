//! Users and the proof that somebody is one.

use std::{fmt, str::FromStr, sync::Arc};

use super::{AccessTags, Right, Rights};

/// The name of a user, which is also the name of the user's folder.
///
/// Made of letters, digits, `.`, `-`, `_`, `@` and `+`, beginning with a letter or
/// digit: no such name leads out of the folder of all users.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(Arc<str>);

/// Says why a text cannot be the name of a user.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` cannot be a user's name: use 1 to 64 letters (a-z, A-Z), digits, `.`, `-`, `_`, `@` or \
     `+`, beginning with a letter or a digit"
)]
pub struct UserIdError(String);

impl UserId {
    const LONGEST: usize = 64;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for UserId {
    type Err = UserIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let begins = text.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "._-@+".contains(letter);
        if begins && text.len() <= Self::LONGEST && text.chars().all(allowed) {
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

/// Somebody who has shown who they are.
///
/// Two that differ in anything are two: neither can use a session of the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    user: UserId,
    rights: Rights,
    tags: AccessTags,
    sees_everything: bool,
    is_spoken_for: bool,
}

impl Principal {
    /// Whoever calls this has looked at a credential.
    pub(super) fn new(user: UserId, rights: Rights, tags: AccessTags) -> Self {
        Self { user, rights, tags, sees_everything: false, is_spoken_for: false }
    }

    /// The same, known by the word of a delegating key.
    pub(super) fn spoken_for(self) -> Self {
        Self { is_spoken_for: true, ..self }
    }

    /// Whether a delegating key says who this is: a service that works for many.
    pub fn is_spoken_for(&self) -> bool {
        self.is_spoken_for
    }

    /// Whose library this principal may use.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// Whether this principal may do that.
    pub fn may(&self, right: Right) -> bool {
        self.rights.include(right)
    }

    /// What is open to this principal besides what is open to all.
    pub fn tags(&self) -> &AccessTags {
        &self.tags
    }

    /// Whether nothing is kept from this principal by access tags.
    pub fn sees_everything(&self) -> bool {
        self.sees_everything
    }
}

/// The one user of a desktop: whoever can reach the program on this machine
/// can read its files as well, and so is asked for nothing.
pub fn desktop(user: UserId) -> Principal {
    let principal = Principal::new(user, Rights::ALL, AccessTags::default());
    Principal { sees_everything: true, ..principal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder_of_all_users() {
        for name in ["", ".", "..", "../x", "a/b", "a\\b", "-x", ".hidden", "a\0", "ü", "C:x"] {
            assert!(name.parse::<UserId>().is_err(), "{name:?}");
        }
        assert!("a".repeat(65).parse::<UserId>().is_err());
        for name in ["local", "1", "ada.lovelace", "Ada_1-2", "ada+1@example.com"] {
            assert_eq!(name.parse::<UserId>().unwrap().as_str(), name);
        }
    }
}
