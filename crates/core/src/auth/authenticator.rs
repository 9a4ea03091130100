//! The one place where credentials become a principal.

use std::{path::Path, sync::Arc, time::Instant};

use secrecy::SecretString;
use vademecum_kit::model::Timestamp;

use super::{
    AccessTag, AccessTags, AccountError, Accounts, AuthError, Credentials, KeyRecord, Principal,
    Refusal, UserId, api_key::ApiKey, attempts::Attempts, token::TokenVerifier,
};
use crate::config::{Auth, Mode};

/// Finds out who calls.
#[derive(Debug)]
pub struct Authenticator(Way);

/// How that is found out.
#[derive(Debug)]
enum Way {
    /// It can only be one.
    Single(Principal),
    /// By what they show.
    Multi(Box<Multi>),
}

#[derive(Debug)]
struct Multi {
    accounts: Arc<Accounts>,
    tokens: Option<TokenVerifier>,
    attempts: Attempts,
}

impl Authenticator {
    /// As the settings say; `local` is who calls if there is only one user.
    pub fn open(settings: &Auth, folder: &Path, local: Principal) -> Result<Self, AuthError> {
        match (settings.mode, &settings.jwt) {
            (Mode::Single, None) => Ok(Self::single(local)),
            (Mode::Single, Some(_)) => Err(AuthError::TokensForOneUser),
            (Mode::Multi, jwt) => {
                let accounts = Accounts::new(folder);
                if jwt.is_none() && !accounts.has_key()? {
                    return Err(AuthError::NobodyCouldEnter);
                }
                let resource = settings.resource.as_ref();
                let tokens = jwt.as_ref().map(|jwt| TokenVerifier::open(jwt, resource));
                Ok(Self(Way::Multi(Box::new(Multi {
                    accounts: Arc::new(accounts),
                    tokens: tokens.transpose()?,
                    attempts: Attempts::new(settings.free_attempts),
                }))))
            }
        }
    }

    /// Whoever comes is this one.
    pub fn single(principal: Principal) -> Self {
        Self(Way::Single(principal))
    }

    /// Whether anybody is asked who they are.
    pub fn asks(&self) -> bool {
        match self.0 {
            Way::Single(_) => false,
            Way::Multi(_) => true,
        }
    }

    /// Finds out who shows these.
    pub async fn authenticate(&self, credentials: &Credentials) -> Result<Principal, Refusal> {
        match &self.0 {
            Way::Single(principal) => {
                refuse_delegation(credentials)?;
                Ok(principal.clone())
            }
            Way::Multi(multi) => multi.authenticate(credentials).await,
        }
    }
}

impl Multi {
    async fn authenticate(&self, credentials: &Credentials) -> Result<Principal, Refusal> {
        let token = credentials.token.as_ref().ok_or(Refusal::Missing)?;
        if let Some(address) = credentials.address
            && let Some(wait) = self.attempts.wait(address, Instant::now())
        {
            return Err(Refusal::TooMany { wait });
        }
        let found = self.look_at(token, credentials).await;
        if let Some(address) = credentials.address {
            match &found {
                Ok(_) => self.attempts.succeeded(address),
                Err(refusal) if refusal.is_failed_attempt() => {
                    self.attempts.failed(address, Instant::now());
                }
                Err(_) => {}
            }
        }
        found
    }

    async fn look_at(
        &self,
        token: &SecretString,
        credentials: &Credentials,
    ) -> Result<Principal, Refusal> {
        if ApiKey::is_meant(token) {
            let key = ApiKey::parse(token).ok_or(Refusal::Invalid)?;
            return self.owner(key, credentials).await;
        }
        let tokens = self.tokens.as_ref().ok_or(Refusal::Invalid)?;
        let principal = tokens.verify(token).await?;
        refuse_delegation(credentials)?;
        Ok(principal)
    }

    /// Whom a key is for, or whom it speaks for.
    async fn owner(&self, key: ApiKey, credentials: &Credentials) -> Result<Principal, Refusal> {
        let found = self.ask(move |accounts| accounts.find(&key)).await?;
        let record = found.filter(|key| key.revoked_at.is_none()).ok_or(Refusal::Invalid)?;
        if record.has_expired(Timestamp::now()) {
            return Err(Refusal::Expired);
        }
        if !record.delegating {
            refuse_delegation(credentials)?;
            return Ok(Principal::new(record.user, record.rights, AccessTags::default()));
        }
        self.delegate(record, credentials).await
    }

    async fn delegate(
        &self,
        key: KeyRecord,
        credentials: &Credentials,
    ) -> Result<Principal, Refusal> {
        let user = match &credentials.user {
            None => key.user,
            Some(name) => {
                let user: UserId = name.parse()?;
                let asked = user.clone();
                if !self.ask(move |accounts| accounts.knows(&asked)).await? {
                    return Err(Refusal::UnknownUser(user));
                }
                user
            }
        };
        let tags = credentials.tags.as_deref().map(AccessTag::list).transpose()?;
        let tags = tags.unwrap_or_default();
        Ok(Principal::new(user, key.rights, tags).spoken_for())
    }

    /// Asks the accounts, beside the event loop.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Accounts) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let accounts = Arc::clone(&self.accounts);
        let answer = tokio::task::spawn_blocking(move || question(&accounts)).await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::error!(error = ?error, "the accounts cannot be looked at");
                Err(Refusal::Unavailable)
            }
            Err(error) => {
                tracing::error!(%error, "a look at the accounts broke off");
                Err(Refusal::Unavailable)
            }
        }
    }
}

/// Whoever may not name another must not believe that it had an effect.
fn refuse_delegation(credentials: &Credentials) -> Result<(), Refusal> {
    match (&credentials.user, &credentials.tags) {
        (Some(_), _) => Err(Refusal::NotDelegating("x-user-id")),
        (None, Some(_)) => Err(Refusal::NotDelegating("x-session-tags")),
        (None, None) => Ok(()),
    }
}
