//! Grants: keys that a client holds after a user admitted it on the consent page. The client proves
//! a grant with access tokens, which the authorization server issues and this module verifies.

use std::{fmt, sync::Arc};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use vademecum_core::auth::{AccessRules, AccessTags, KeyId, Principal, Rights};
use vademecum_model::{Deadline, Timestamp};

use super::{
    AccountError, Accounts, AuthRejection, KeyRecord,
    accounts::{READ_TIMEOUT, store_error},
    api_key::ApiKey,
};

/// Kind of a token that the authorization server issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantTokenKind {
    /// Opens the library for a few minutes.
    Access,
    /// Is exchanged once for a new pair of tokens.
    Refresh,
}

impl GrantTokenKind {
    /// Returns the name in the account database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Refresh => "refresh",
        }
    }

    /// Prefix of the token. Lets secret scanners find a leaked one.
    fn prefix(self) -> &'static str {
        match self {
            Self::Access => "vda_",
            Self::Refresh => "vdr_",
        }
    }
}

/// Token of a grant: `vda_<id>_<secret>` or `vdr_<id>_<secret>`, with 256 random bits.
pub struct GrantToken {
    kind: GrantTokenKind,
    key: KeyId,
    text: SecretString,
}

impl fmt::Debug for GrantToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GrantToken").field("key", &self.key).finish_non_exhaustive()
    }
}

impl GrantToken {
    /// Length of the secret: 256 bits in unpadded URL-safe base64.
    const SECRET_LEN: usize = 43;

    /// Generates a token of a grant from the random bits of the operating system.
    pub fn generate(kind: GrantTokenKind, key: &KeyId) -> Result<Self, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let text = format!("{}{key}_{}", kind.prefix(), BASE64_URL_SAFE_NO_PAD.encode(secret));
        Ok(Self { kind, key: key.clone(), text: text.into() })
    }

    /// Parses a token. Returns `None` if it is none of a grant.
    pub fn parse(text: &SecretString) -> Option<Self> {
        let kind = [GrantTokenKind::Access, GrantTokenKind::Refresh];
        let kind = kind.into_iter().find(|it| text.expose_secret().starts_with(it.prefix()))?;
        let (id, secret) = text.expose_secret().strip_prefix(kind.prefix())?.split_once('_')?;
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let whole = secret.len() == Self::SECRET_LEN && secret.bytes().all(is_base64);
        whole.then_some(Self { kind, key: id.parse().ok()?, text: text.clone() })
    }

    /// Returns true if the text begins like an access token, well-formed or not.
    pub(super) fn has_access_prefix(text: &SecretString) -> bool {
        text.expose_secret().starts_with(GrantTokenKind::Access.prefix())
    }

    /// Returns the kind: access or refresh token.
    pub fn kind(&self) -> GrantTokenKind {
        self.kind
    }

    /// Returns the id of the grant, which is part of the token.
    pub fn key(&self) -> &KeyId {
        &self.key
    }

    /// Returns the SHA-256 hash to store. The token has 256 random bits, so neither a slow hash nor
    /// a salt is needed, and a lookup by the hash discloses nothing by its duration.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.expose_secret()).into()
    }

    /// Returns the text, for the client.
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }
}

/// Stored access token with its grant.
#[derive(Debug)]
struct StoredToken {
    grant: KeyRecord,
    resource: String,
    expires_at: Timestamp,
    is_suspended: bool,
    /// Rights that the user may give to clients; they may be fewer than at the time of the grant.
    grantable: Rights,
}

/// Verifies access tokens.
#[derive(Clone, Debug)]
pub(super) struct GrantVerifier {
    accounts: Arc<Accounts>,
    /// Address of this server, for which a token must have been issued.
    resource: String,
}

impl GrantVerifier {
    pub(super) fn new(accounts: Arc<Accounts>, resource: &str) -> Self {
        Self { accounts, resource: resource.to_owned() }
    }

    pub(super) fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// Returns the principal of an access token and its grant. Reads the account database; blocks.
    pub(super) fn verify(
        &self,
        text: &SecretString,
    ) -> Result<Result<(Principal, KeyRecord), AuthRejection>, AccountError> {
        let token = GrantToken::parse(text).filter(|it| it.kind == GrantTokenKind::Access);
        let Some(token) = token else { return Ok(Err(AuthRejection::Invalid)) };
        let found = self.accounts.find_access_token(&token)?;
        Ok(found.ok_or(AuthRejection::Invalid).and_then(|stored| self.check(stored)))
    }

    fn check(&self, stored: StoredToken) -> Result<(Principal, KeyRecord), AuthRejection> {
        let now = Timestamp::now();
        if stored.grant.revoked_at.is_some() {
            return Err(AuthRejection::Invalid);
        }
        if stored.resource != self.resource {
            return Err(AuthRejection::WrongAudience);
        }
        if stored.expires_at <= now || stored.grant.has_expired(now) {
            return Err(AuthRejection::AccessTokenExpired);
        }
        if stored.is_suspended {
            return Err(AuthRejection::Suspended);
        }
        let grant = stored.grant;
        let access = AccessRules::for_scope(grant.scope.clone());
        let rights = grant.rights.limited_to(stored.grantable);
        let principal = Principal::new(grant.user.clone(), rights, AccessTags::default());
        Ok((principal.with_access(access).with_key(grant.id.clone()), grant))
    }
}

impl Accounts {
    /// Returns the stored access token of this hash.
    fn find_access_token(&self, token: &GrantToken) -> Result<Option<StoredToken>, AccountError> {
        // A server without accounts has issued no token.
        if !self.store.may_have_rows() {
            return Ok(None);
        }
        let digest = token.digest();
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            let parameters: &[(&str, &dyn rusqlite::ToSql)] = &[(":digest", &digest)];
            reader.query_first(include_str!("sql/access_token.sql"), parameters, |row| {
                Ok(StoredToken {
                    grant: KeyRecord::from_row(row)?,
                    resource: row.get("resource")?,
                    expires_at: row.get("token_expires_at")?,
                    is_suspended: row.get::<_, Option<Timestamp>>("suspended_at")?.is_some(),
                    grantable: Rights::from_scopes([row.get::<_, String>("grantable")?.as_str()]),
                })
            })
        });
        found.map_err(store_error("look up an access token"))
    }
}

/// Returns the id in an API key or in a token of a grant, valid or not; `None` for other tokens.
pub fn key_of_token(token: &SecretString) -> Option<KeyId> {
    let grant = || GrantToken::parse(token).map(|token| token.key().clone());
    ApiKey::parse(token).map(|key| key.id).or_else(grant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grant_token_round_trips_through_text() {
        let key: KeyId = "0123456789abcdef".parse().unwrap();
        for kind in [GrantTokenKind::Access, GrantTokenKind::Refresh] {
            let token = GrantToken::generate(kind, &key).unwrap();
            let read = GrantToken::parse(&token.expose().into()).unwrap();
            assert!(read.kind() == kind && *read.key() == key && read.digest() == token.digest());
            assert!(!format!("{read:?}").contains(token.expose()));
        }
    }

    #[test]
    fn grant_token_rejects_other_texts() {
        let key: KeyId = "0123456789abcdef".parse().unwrap();
        let token = GrantToken::generate(GrantTokenKind::Access, &key).unwrap();
        let text = token.expose();
        for wrong in ["", "vda_", &text[1..], &text[..text.len() - 1], &format!("{text}a")] {
            assert!(GrantToken::parse(&wrong.into()).is_none(), "{wrong}");
        }
    }
}
