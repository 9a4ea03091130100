//! Conversion of credentials into a principal. No other code does this.

use std::{sync::Arc, time::Instant};

use secrecy::SecretString;
use vademecum_core::{
    auth::{AccessRules, AccessTag, AccessTags, KeyScope, Principal, Right, Rights, UserId},
    config::{Auth, AuthMode, LocalAccess},
};
use vademecum_model::{Timestamp, matches_pattern};
use vademecum_store::DataFolder;

use super::{
    AccountError, Accounts, AuthError, AuthRejection, CallerAccount, Credentials, DenyRules,
    GrantToken, KeyRecord,
    accounts::{LAST_USE_INTERVAL, VerifiedKey},
    api_key::ApiKey,
    grant::GrantVerifier,
    local::LocalAuth,
    login_throttle::LoginThrottle,
    token::TokenVerifier,
};

/// Authenticates callers.
#[derive(Debug)]
pub struct Authenticator(AuthMethod);

/// Authentication method.
#[derive(Debug)]
enum AuthMethod {
    /// Single user: every caller that `local` accepts is this principal, or a user without a library
    /// if `delegates` is true and the caller names one.
    /// Clients that hold a grant of this user present an access token.
    Single {
        principal: Principal,
        local: Option<LocalAuth>,
        delegates: bool,
        deny: DenyRules,
        grants: Option<GrantVerifier>,
    },
    /// Multiple users: callers present a credential.
    Multi(Box<MultiUserAuth>),
}

#[derive(Debug)]
struct MultiUserAuth {
    accounts: Arc<Accounts>,
    deny: DenyRules,
    tokens: Option<TokenVerifier>,
    grants: Option<GrantVerifier>,
    throttle: LoginThrottle,
}

impl Authenticator {
    /// Creates an authenticator from the settings. `local` is the principal in single-user mode.
    /// Fails if no credential could ever be accepted.
    pub fn open(
        settings: &Auth,
        data: impl Into<DataFolder>,
        local: Principal,
    ) -> Result<Self, AuthError> {
        let data = data.into();
        match (settings.mode, &settings.jwt) {
            (AuthMode::Single, None) => {
                let (principal, deny) = (local, DenyRules::default());
                let grants = open_grants(settings, Arc::new(Accounts::new(&data)));
                // Requests that a proxy or tunnel forwards come from an account of this machine.
                let access = match (&grants, settings.local) {
                    (None, access) => access,
                    (Some(_), LocalAccess::Account | LocalAccess::Token) => LocalAccess::Token,
                    (Some(_), LocalAccess::Open) => return Err(AuthError::OpenWithOAuth),
                };
                let local = Some(LocalAuth::new(access, data.path()));
                let delegates = settings.delegate_local;
                Ok(Self(AuthMethod::Single { principal, local, delegates, deny, grants }))
            }
            (AuthMode::Single, Some(_)) => Err(AuthError::JwtInSingleMode),
            (AuthMode::Multi, jwt) => {
                let accounts = Arc::new(Accounts::new(&data));
                let grants = open_grants(settings, Arc::clone(&accounts));
                if jwt.is_none() && grants.is_none() && !accounts.has_active_key()? {
                    return Err(AuthError::NoCredential);
                }
                let resource = settings.resource.as_ref();
                let tokens = jwt.as_ref().map(|jwt| TokenVerifier::open(jwt, resource));
                Ok(Self(AuthMethod::Multi(Box::new(MultiUserAuth {
                    accounts,
                    deny: DenyRules::default(),
                    tokens: tokens.transpose()?,
                    grants,
                    throttle: LoginThrottle::new(settings.free_attempts),
                }))))
            }
        }
    }

    /// Sets the rules that restrict principals.
    #[must_use]
    pub fn with_deny_rules(self, rules: DenyRules) -> Self {
        Self(match self.0 {
            AuthMethod::Single { principal, local, delegates, grants, .. } => {
                let principal = rules.restrict(principal, None);
                AuthMethod::Single { principal, local, delegates, deny: rules, grants }
            }
            AuthMethod::Multi(multi) => {
                AuthMethod::Multi(Box::new(MultiUserAuth { deny: rules, ..*multi }))
            }
        })
    }

    /// Authenticates every caller as `principal`.
    pub fn single(principal: Principal) -> Self {
        let deny = DenyRules::default();
        Self(AuthMethod::Single { principal, local: None, delegates: false, deny, grants: None })
    }

    /// Returns the principal of a user who is logged in with a browser. On a server for several
    /// users, `rights` are those of the user.
    pub fn browser_principal(&self, user: &UserId, rights: Rights) -> Principal {
        match &self.0 {
            AuthMethod::Single { principal, .. } => principal.clone(),
            AuthMethod::Multi(multi) => {
                let principal = Principal::new(user.clone(), rights, AccessTags::default());
                multi.deny.restrict(principal, None)
            }
        }
    }

    /// Returns true if callers must present a credential.
    pub fn requires_credentials(&self) -> bool {
        match &self.0 {
            AuthMethod::Single { grants, .. } => grants.is_some(),
            AuthMethod::Multi(_) => true,
        }
    }

    /// Returns the principal that the credentials belong to.
    pub async fn authenticate(
        &self,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        match &self.0 {
            AuthMethod::Single { principal, local, delegates, deny, grants } => {
                if let (Some(grants), Some(token)) = (grants, &credentials.token)
                    && GrantToken::has_access_prefix(token)
                {
                    reject_delegation(credentials)?;
                    let (granted, grant) = verify_grant(grants, token).await?;
                    if granted.user() != principal.user() {
                        return Err(AuthRejection::Invalid);
                    }
                    let granted = granted.with_full_view();
                    return Ok(deny.restrict(granted, Some((&grant.id, &grant.name))));
                }
                local.as_ref().map_or(Ok(()), |local| local.check(credentials))?;
                if *delegates {
                    return delegate_local(principal, deny, credentials);
                }
                reject_delegation(credentials)?;
                Ok(principal.clone())
            }
            AuthMethod::Multi(multi) => multi.authenticate(credentials).await,
        }
    }

    /// Returns true if callers are recognised by the account that opened their connection.
    pub fn recognises_accounts(&self) -> bool {
        match &self.0 {
            AuthMethod::Single { local, .. } => {
                local.as_ref().is_some_and(LocalAuth::recognises_accounts)
            }
            AuthMethod::Multi(_) => false,
        }
    }

    /// Returns true if a browser of this account must not see the pages, whatever it presents: the
    /// user of a server for one user has another account of this machine.
    pub fn refuses_browser(&self, account: CallerAccount) -> bool {
        self.recognises_accounts() && account == CallerAccount::Other
    }

    /// Returns true if a caller with this account needs a token; always true in multi-user mode.
    pub fn needs_token(&self, account: CallerAccount) -> bool {
        match &self.0 {
            AuthMethod::Single { local, .. } => {
                local.as_ref().is_some_and(|local| !local.accepts_account(account))
            }
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
        if let Some(grants) = &self.grants
            && GrantToken::has_access_prefix(token)
        {
            reject_delegation(credentials)?;
            let (principal, grant) = verify_grant(grants, token).await?;
            return Ok(self.deny.restrict(principal, Some((&grant.id, &grant.name))));
        }
        let tokens = self.tokens.as_ref().ok_or(AuthRejection::Invalid)?;
        let principal = tokens.verify(token).await?;
        reject_delegation(credentials)?;
        let user = principal.user().clone();
        let status = self.query_accounts(move |accounts| accounts.find_user(&user)).await?;
        if status.is_some_and(|status| status.suspended_at.is_some()) {
            return Err(AuthRejection::Suspended);
        }
        Ok(self.deny.restrict(principal, None))
    }

    /// Resolves an API key to its owner or, for a delegating key, to the user it acts for.
    async fn resolve_api_key(
        &self,
        key: ApiKey,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        let found = self.query_accounts(move |accounts| accounts.find_key(&key)).await?;
        let found = found.filter(|key| key.record.revoked_at.is_none());
        let VerifiedKey { record, is_suspended } = found.ok_or(AuthRejection::Invalid)?;
        if record.has_expired(Timestamp::now()) {
            return Err(AuthRejection::Expired);
        }
        if is_suspended {
            return Err(AuthRejection::Suspended);
        }
        record_use(&self.accounts, &record);
        let (id, name) = (record.id.clone(), record.name.clone());
        let principal = if record.delegating {
            self.resolve_delegation(record, credentials).await?
        } else {
            reject_delegation(credentials)?;
            let access = AccessRules::for_scope(record.scope);
            Principal::new(record.user, record.rights, AccessTags::default()).with_access(access)
        };
        let principal = principal.with_key(id.clone());
        Ok(self.deny.restrict(principal, Some((&id, &name))))
    }

    async fn resolve_delegation(
        &self,
        key: KeyRecord,
        credentials: &Credentials,
    ) -> Result<Principal, AuthRejection> {
        let permits = |user: &UserId| match &key.scope.users {
            None => true,
            Some(patterns) => patterns.iter().any(|it| matches_pattern(it, user.as_str())),
        };
        let tags = delegated_tags(&key.scope, credentials)?;
        let (user, has_library) = match &credentials.user {
            // Without a user, the key acts for its owner, if that is in its scope.
            None => (key.user.clone(), permits(&key.user)),
            Some(name) => {
                let user: UserId = name.parse()?;
                if !permits(&user) {
                    return Err(AuthRejection::UserOutOfScope(user));
                }
                let user_id = user.clone();
                let status =
                    self.query_accounts(move |accounts| accounts.find_user(&user_id)).await?;
                if status.as_ref().is_some_and(|status| status.suspended_at.is_some()) {
                    return Err(AuthRejection::Suspended);
                }
                (user, status.is_some())
            }
        };
        let access = AccessRules::for_scope(key.scope);
        let access = if has_library { access } else { access.without_library() };
        Ok(Principal::new(user, key.rights, tags).with_access(access).into_delegated())
    }

    /// Runs a query against the account database on the blocking pool of tokio.
    async fn query_accounts<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Accounts) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, AuthRejection> {
        let accounts = Arc::clone(&self.accounts);
        run_query(move || question(&accounts)).await
    }
}

/// Runs a query on the blocking pool of tokio.
async fn run_query<T: Send + 'static>(
    question: impl FnOnce() -> Result<T, AccountError> + Send + 'static,
) -> Result<T, AuthRejection> {
    match tokio::task::spawn_blocking(question).await {
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

/// Returns the verifier of access tokens, if this server issues any.
fn open_grants(settings: &Auth, accounts: Arc<Accounts>) -> Option<GrantVerifier> {
    let resource = settings.resource.as_ref().filter(|_| settings.oauth)?;
    Some(GrantVerifier::new(accounts, resource.as_str()))
}

/// Returns the principal of an access token and its grant, and records the use of the grant.
async fn verify_grant(
    grants: &GrantVerifier,
    token: &SecretString,
) -> Result<(Principal, KeyRecord), AuthRejection> {
    let (verifier, token) = (grants.clone(), token.clone());
    let (principal, grant) = run_query(move || verifier.verify(&token)).await??;
    record_use(grants.accounts(), &grant);
    Ok((principal, grant))
}

/// Records the use of a key in the background, at most once in [`LAST_USE_INTERVAL`].
fn record_use(accounts: &Arc<Accounts>, key: &KeyRecord) {
    let recent = Timestamp::now().minus(LAST_USE_INTERVAL);
    if key.last_used_at.is_some_and(|last| last >= recent) {
        return;
    }
    let (accounts, id) = (Arc::clone(accounts), key.id.clone());
    drop(tokio::task::spawn_blocking(move || {
        if let Err(error) = accounts.record_use(&id) {
            tracing::debug!(%error, "the use of a key was not recorded");
        }
    }));
}

/// Returns the principal of a request to the server of a single user that permits delegation. Only
/// the local user has a library.
fn delegate_local(
    local: &Principal,
    deny: &DenyRules,
    credentials: &Credentials,
) -> Result<Principal, AuthRejection> {
    if credentials.user.is_none() && credentials.tags.is_none() {
        return Ok(local.clone());
    }
    let user: Option<UserId> = credentials.user.as_deref().map(str::parse).transpose()?;
    let user = user.unwrap_or_else(|| local.user().clone());
    let tags = delegated_tags(&KeyScope::default(), credentials)?;
    let mut access = AccessRules::default();
    if user != *local.user() {
        access = access.without_library();
    }
    let rights = Rights::from_scopes([Right::Read.as_str()]);
    let principal = Principal::new(user, rights, tags).with_access(access).into_delegated();
    Ok(deny.restrict(principal, None))
}

/// Parses the access tags that a delegating caller passes on. Fails if its scope excludes one.
fn delegated_tags(
    scope: &KeyScope,
    credentials: &Credentials,
) -> Result<AccessTags, AuthRejection> {
    let tags = credentials.tags.as_deref().map(AccessTag::parse_json).transpose()?;
    let tags = tags.unwrap_or_default();
    if let Some(patterns) = &scope.session_tags {
        let is_foreign =
            |tag: &&AccessTag| !patterns.iter().any(|it| matches_pattern(it, tag.as_str()));
        if let Some(tag) = tags.iter().find(is_foreign) {
            return Err(AuthRejection::TagOutOfScope(tag.clone()));
        }
    }
    Ok(tags)
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
