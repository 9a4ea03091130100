//! The authenticated caller.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use super::{AccessRules, AccessTags, KeyId, Right, Rights, UserId};

/// Authenticated caller: user, rights and access tags.
///
/// Two principals are equal only if all fields are; a session belongs to exactly one principal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    user: UserId,
    rights: Rights,
    tags: AccessTags,
    access: Arc<AccessRules>,
    sees_everything: bool,
    is_delegated: bool,
    key: Option<KeyId>,
}

impl Principal {
    /// Creates a principal. Callers must have verified a credential.
    pub fn new(user: UserId, rights: Rights, tags: AccessTags) -> Self {
        let access = Arc::default();
        Self { user, rights, tags, access, sees_everything: false, is_delegated: false, key: None }
    }

    /// Replaces the restrictions.
    #[must_use]
    pub fn with_access(self, access: AccessRules) -> Self {
        Self { access: Arc::new(access), ..self }
    }

    /// Returns the principal as seen by a client of this name, to which deny rules may apply.
    #[must_use]
    pub fn for_client(&self, name: &str) -> Option<Self> {
        let access = self.access.for_client(name)?;
        Some(self.clone().with_access(access))
    }

    /// Returns the restrictions of the principal.
    pub fn access(&self) -> &AccessRules {
        &self.access
    }

    /// Marks the principal as authenticated through a delegating key.
    #[must_use]
    pub fn into_delegated(self) -> Self {
        Self { is_delegated: true, ..self }
    }

    /// Lifts the restriction to access tags, for grants of the single user of a server.
    #[must_use]
    pub fn with_full_view(self) -> Self {
        Self { sees_everything: true, ..self }
    }

    /// Records the API key that authenticated the principal.
    #[must_use]
    pub fn with_key(self, key: KeyId) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Returns the API key that authenticated the principal; `None` for tokens and the local user.
    pub fn key(&self) -> Option<&KeyId> {
        self.key.as_ref()
    }

    /// Returns true if a delegating key names this user: a service that acts for many users.
    pub fn is_delegated(&self) -> bool {
        self.is_delegated
    }

    /// Returns the user whose library this principal uses.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// Returns true if the principal holds `right`.
    pub fn has_right(&self, right: Right) -> bool {
        self.rights.contains(right)
    }

    /// Returns the access tags that grant access beyond untagged content.
    pub fn tags(&self) -> &AccessTags {
        &self.tags
    }

    /// Returns true if access tags do not restrict this principal.
    pub fn sees_everything(&self) -> bool {
        self.sees_everything
    }

    /// Returns a digest of all fields, so that another server recognises the principal. Programs of
    /// different versions may differ in it.
    pub fn digest(&self) -> String {
        let mut hasher = DigestHasher(Sha256::new());
        self.hash(&mut hasher);
        BASE64_STANDARD.encode(hasher.0.finalize())
    }
}

/// A hasher that keeps all bits.
struct DigestHasher(Sha256);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Returns the single local user. No credential is required: a caller that can reach the program on
/// this machine can read its files anyway.
pub fn local_principal(user: UserId) -> Principal {
    let principal = Principal::new(user, Rights::ALL, AccessTags::default());
    Principal { sees_everything: true, ..principal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_all_fields() {
        let ada = || local_principal("ada".parse().unwrap());
        let eve = local_principal("eve".parse().unwrap());
        assert_eq!(ada().digest(), ada().digest());
        assert_ne!(ada().digest(), eve.digest());
        assert_ne!(ada().digest(), ada().into_delegated().digest());
    }
}
