//! Conversion of credentials into a principal. No other code does this.

use std::{path::Path, sync::Arc, time::Instant};

use secrecy::SecretString;
use vademecum_kit::model::Timestamp;

use super::{
    AccessTag, AccessTags, AccountError, Accounts, AuthError, AuthRejection, CallerAccount,
    Credentials, KeyRecord, Principal, UserId, api_key::ApiKey, local::LocalAuth,
    login_throttle::LoginThrottle, token::TokenVerifier,
};
use crate::config::{Auth, AuthMode};

/// Authenticates callers.
#[derive(Debug)]
pub struct Authenticator(AuthMethod);

/// Authentication method.
#[derive(Debug)]
enum AuthMethod {
    /// Single user: every caller is this principal.
    Single(Principal),
    /// Single user: callers have the account of the server, or its token.
    Local(LocalAuth),
    /// Multiple users: callers present a credential.
    Multi(Box<MultiUserAuth>),
}

#[derive(Debug)]
struct MultiUserAuth {
    accounts: Arc<Accounts>,
    tokens: Option<TokenVerifier>,
    throttle: LoginThrottle,
}

impl Authenticator {
    /// Creates an authenticator from the settings. `local` is the principal in single-user mode.
    /// Fails if no credential could ever be accepted.
    pub fn open(settings: &Auth, folder: &Path, local: Principal) -> Result<Self, AuthError> {
        match (settings.mode, &settings.jwt) {
            (AuthMode::Single, None) => {
                Ok(Self(AuthMethod::Local(LocalAuth::new(settings.local, folder, local))))
            }
            (AuthMode::Single, Some(_)) => Err(AuthError::JwtInSingleMode),
            (AuthMode::Multi, jwt) => {
                let accounts = Accounts::new(folder);
                if jwt.is_none() && !accounts.has_active_key()? {
                    return Err(AuthError::NoCredential);
                }
                let resource = settings.resource.as_ref();
                let tokens = jwt.as_ref().map(|jwt| TokenVerifier::open(jwt, resource));
                Ok(Self(AuthMethod::Multi(Box::new(MultiUserAuth {
                    accounts: Arc::new(accounts),
                    tokens: tokens.transpose()?,
                    throttle: LoginThrottle::new(settings.free_attempts),
                }))))
            }
        }
    }

    /// Authenticates every caller as `principal`.
    pub fn single(principal: Principal) -> Self {
        Self(AuthMethod::Single(principal))
    }

    /// Returns true if callers must present a credential.
    pub fn requires_credentials(&self) -> bool {
        match self.0 {
            AuthMethod::Single(_) | AuthMethod::Local(_) => false,
            AuthMethod::Multi(_) => true,
        }
    }

    /// Returns the principal that the credentials belong to.
    pub async fn authenticate(
        &self,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        match &self.0 {
            AuthMethod::Single(principal) => {
                reject_delegation(credentials)?;
                Ok(principal.clone())
            }
            AuthMethod::Local(local) => {
                let principal = local.authenticate(credentials)?;
                reject_delegation(credentials)?;
                Ok(principal)
            }
            AuthMethod::Multi(multi) => multi.authenticate(credentials).await,
        }
    }

    /// Returns true if callers are recognised by the account that opened their connection.
    pub fn recognises_accounts(&self) -> bool {
        match &self.0 {
            AuthMethod::Local(local) => local.recognises_accounts(),
            AuthMethod::Single(_) | AuthMethod::Multi(_) => false,
        }
    }

    /// Returns true if a caller with this account needs a token.
    pub fn needs_token(&self, account: CallerAccount) -> bool {
        match &self.0 {
            AuthMethod::Single(_) => false,
            AuthMethod::Local(local) => !local.accepts_account(account),
            AuthMethod::Multi(_) => true,
        }
    }
}

impl MultiUserAuth {
    async fn authenticate(&self, credentials: &Credentials) -> Result<Principal, AuthRejection> {
        let token = credentials.token.as_ref().ok_or(AuthRejection::Missing)?;
        let found = self.resolve_token(token, credentials).await;
        let Some(address) = credentials.address else { return found };
        match &found {
            // Others who share the address, behind a proxy for example, may fail meanwhile. A valid
            // credential is never refused because of them.
            Ok(_) => self.throttle.clear_failures(address),
            Err(refusal) if refusal.counts_as_failure() => {
                let now = Instant::now();
                if let Some(wait) = self.throttle.remaining_wait(address, now) {
                    return Err(AuthRejection::TooManyAttempts { wait });
                }
                self.throttle.record_failure(address, now);
            }
            Err(_) => {}
        }
        found
    }

    async fn resolve_token(
        &self,
        token: &SecretString,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        if ApiKey::has_key_prefix(token) {
            let key = ApiKey::parse(token).ok_or(AuthRejection::Invalid)?;
            return self.resolve_api_key(key, credentials).await;
        }
        let tokens = self.tokens.as_ref().ok_or(AuthRejection::Invalid)?;
        let principal = tokens.verify(token).await?;
        reject_delegation(credentials)?;
        Ok(principal)
    }

    /// Resolves an API key to its owner or, for a delegating key, to the user it acts for.
    async fn resolve_api_key(
        &self,
        key: ApiKey,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        let found = self.query_accounts(move |accounts| accounts.find_key(&key)).await?;
        let record = found.filter(|key| key.revoked_at.is_none()).ok_or(AuthRejection::Invalid)?;
        if record.has_expired(Timestamp::now()) {
            return Err(AuthRejection::Expired);
        }
        if !record.delegating {
            reject_delegation(credentials)?;
            let principal = Principal::new(record.user, record.rights, AccessTags::default());
            return Ok(principal.with_key(record.id));
        }
        self.resolve_delegation(record, credentials).await
    }

    async fn resolve_delegation(
        &self,
        key: KeyRecord,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        let user = match &credentials.user {
            None => key.user,
            Some(name) => {
                let user: UserId = name.parse()?;
                let asked = user.clone();
                if !self.query_accounts(move |accounts| accounts.user_exists(&asked)).await? {
                    return Err(AuthRejection::UnknownUser(user));
                }
                user
            }
        };
        let tags = credentials.tags.as_deref().map(AccessTag::parse_json).transpose()?;
        let tags = tags.unwrap_or_default();
        Ok(Principal::new(user, key.rights, tags).with_key(key.id).into_delegated())
    }

    /// Runs a query against the account database on the blocking pool of tokio.
    async fn query_accounts<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Accounts) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, AuthRejection> {
        let accounts = Arc::clone(&self.accounts);
        let answer = tokio::task::spawn_blocking(move || question(&accounts)).await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::error!(error = ?error, "cannot read the accounts");
                Err(AuthRejection::Unavailable)
            }
            Err(error) => {
                tracing::error!(%error, "the account query was aborted");
                Err(AuthRejection::Unavailable)
            }
        }
    }
}

/// Rejects delegation headers from callers that may not delegate, so that they are never ignored
/// silently.
fn reject_delegation(credentials: &Credentials) -> Result<(), AuthRejection> {
    match (&credentials.user, &credentials.tags) {
        (Some(_), _) => Err(AuthRejection::NotDelegating("x-user-id")),
        (None, Some(_)) => Err(AuthRejection::NotDelegating("x-session-tags")),
        (None, None) => Ok(()),
    }
}
