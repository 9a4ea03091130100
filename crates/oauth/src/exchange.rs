//! The token endpoint: exchanges codes and refresh tokens for new tokens. Each is used once; a
//! second use means that another program has it too, so the grant ends.

use std::{collections::BTreeMap, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rusqlite::{Row, ToSql};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use vademecum_accounts::{GrantToken, GrantTokenKind};
use vademecum_core::auth::{KeyId, Right, Rights, UserId};
use vademecum_model::Timestamp;
use vademecum_store::{Durability, StoreError, Writer};

use super::{
    AuthorizationServer, OAuthError, ServerError, client::is_document_url, error::store_error,
    parameters::parse_parameters, secret::Secret,
};

/// Inserts a token of a grant. Only its digest is stored.
const ADD_TOKEN_SQL: &str = "INSERT INTO oauth_tokens (digest, key, kind, resource, scopes, expires_at) \
     VALUES (:digest, :key, :kind, :resource, :scopes, :expires_at)";
/// Deletes the grants that were revoked or expired before `:since`, with their tokens.
const DELETE_ENDED_GRANTS_SQL: &str = "DELETE FROM api_keys \
     WHERE client_id IS NOT NULL \
     AND (revoked_at < :since OR expires_at < :since)";
/// Deletes the codes that expired before `:since`.
const DELETE_EXPIRED_CODES_SQL: &str = "DELETE FROM oauth_codes WHERE expires_at < :since";
/// Deletes the tokens that expired before `:since`.
const DELETE_EXPIRED_TOKENS_SQL: &str = "DELETE FROM oauth_tokens WHERE expires_at < :since";
/// Records the grant that the code `:digest` was exchanged for.
const SET_CODE_GRANT_SQL: &str = "UPDATE oauth_codes SET key = :key WHERE digest = :digest";
/// Marks the code `:digest` as used.
const USE_CODE_SQL: &str = "UPDATE oauth_codes SET used_at = :now WHERE digest = :digest";
/// Marks the refresh token `:digest` as used.
const USE_TOKEN_SQL: &str = "UPDATE oauth_tokens SET used_at = :now WHERE digest = :digest";

/// Lifetime of an access token.
const ACCESS_LIFETIME: Duration = Duration::from_mins(10);
/// Time after which a grant ends if its refresh token is not used.
const REFRESH_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// Time after which a grant ends, however often its tokens are renewed.
const GRANT_LIFETIME: Duration = Duration::from_hours(365 * 24);
/// Maximum number of valid grants of one user for one client. The oldest ends for a new one.
const MAX_GRANTS: i64 = 20;
/// Time for which expired codes and tokens are kept, to tell a second use from a wrong secret.
const EXPIRED_RETENTION: Duration = Duration::from_hours(24);
/// Time for which grants that have ended are listed.
const ENDED_RETENTION: Duration = Duration::from_hours(90 * 24);
/// Maximum size of a request, in bytes.
const MAX_FORM_LENGTH: usize = 8_000;
/// Lengths of a code verifier (RFC 7636, section 4.1).
const VERIFIER_LENGTHS: std::ops::RangeInclusive<usize> = 43..=128;

/// Parameters of a request to the token endpoint or the revocation endpoint.
#[derive(Clone, Debug)]
pub struct TokenForm(BTreeMap<String, String>);

/// Tokens of a grant, once the client has proved that it has the code or the refresh token.
#[expect(missing_docs, reason = "the fields are those of the token response")]
#[derive(Debug)]
pub struct IssuedTokens {
    pub access: GrantToken,
    pub refresh: GrantToken,
    /// Time until the access token expires.
    pub lifetime: Duration,
    pub rights: Rights,
    /// User whose library the tokens open.
    pub user: UserId,
    pub client_name: String,
}

/// Exchange without tokens.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The request is refused, and nothing else changes than that its code is used up.
    #[error(transparent)]
    Refused(#[from] OAuthError),
    /// The code or refresh token was used before, so its grant has ended.
    #[error("{error}")]
    UsedTwice {
        /// Answer to the client.
        error: OAuthError,
        /// Grant that ended; `None` if the code never led to one.
        revoked: Option<KeyId>,
    },
    /// The server failed, and nothing has changed.
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// Row of a code, with the state of its user.
struct Code {
    client_id: String,
    client_name: String,
    user: String,
    redirect_uri: String,
    challenge: String,
    resource: String,
    scopes: String,
    access: String,
    is_expired: bool,
    is_used: bool,
    is_suspended: bool,
    key: Option<String>,
}

/// Row of a refresh token, with the state of its grant.
struct RefreshToken {
    key: KeyId,
    user: String,
    client_id: String,
    client_name: String,
    scopes: String,
    resource: String,
    grant_expires_at: Option<Timestamp>,
    /// False if it has expired, or the user is suspended.
    is_current: bool,
    is_used: bool,
    is_revoked: bool,
}

impl TokenForm {
    /// Reads a URL-encoded body. Fails if a parameter occurs twice.
    pub fn parse(body: &[u8]) -> Result<Self, OAuthError> {
        parse_parameters(body, MAX_FORM_LENGTH).map(Self)
    }

    /// Returns true if a code is to be exchanged for the first tokens of a grant.
    pub fn is_code_exchange(&self) -> bool {
        self.get("grant_type") == Some("authorization_code")
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn require(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name).ok_or_else(|| OAuthError::invalid_request(format!("{name} is missing")))
    }
}

impl AuthorizationServer {
    /// Exchanges a code or a refresh token for new tokens.
    pub fn exchange(&self, form: &TokenForm) -> Result<IssuedTokens, ExchangeError> {
        self.check_resource(form.get("resource"))?;
        let client_id = form.require("client_id")?;
        // `invalid_client` makes a client register again after its registration was removed.
        if !is_document_url(client_id) {
            self.find_client(client_id)??;
        }
        match form.get("grant_type") {
            Some("authorization_code") => self.exchange_code(form, client_id),
            Some("refresh_token") => self.exchange_refresh_token(form, client_id),
            _ => {
                let problem = "grant_type must be authorization_code or refresh_token";
                Err(OAuthError::new("unsupported_grant_type", problem).into())
            }
        }
    }

    /// Runs an exchange in a transaction, which is rolled back only if the server fails. A refusal
    /// is committed: it uses up its code, and ends the grant of one that was used before.
    fn write_exchange(
        &self,
        mut exchange: impl FnMut(&Writer<'_>) -> Result<IssuedTokens, ExchangeError>,
    ) -> Result<IssuedTokens, ExchangeError> {
        self.store.write(Durability::Full, |writer| match exchange(writer) {
            Err(ExchangeError::Server(failure)) => Err(failure),
            outcome => Ok(outcome),
        })?
    }

    fn exchange_code(
        &self,
        form: &TokenForm,
        client_id: &str,
    ) -> Result<IssuedTokens, ExchangeError> {
        let (code, verifier) = (form.require("code")?, form.require("code_verifier")?);
        let now = Timestamp::now();
        let digest = Secret::of_text(code).digest();
        self.write_exchange(|writer| {
            let this: &[(&str, &dyn ToSql)] = &[(":digest", &digest)];
            let found = writer.with_reader(|reader| {
                let sql = include_str!("sql/code.sql");
                reader.query_first(sql, this, |row| Code::from_row(row, now))
            });
            let found = found.map_err(store_error("look up a code"))?;
            let found = found.ok_or_else(|| OAuthError::invalid_grant("this code is not known"))?;
            if found.is_used {
                let revoked = revoke_used_twice(writer, found.key.as_deref(), now)?;
                let error = OAuthError::invalid_grant("this code was used before");
                return Err(ExchangeError::UsedTwice { error, revoked });
            }
            let used: &[(&str, &dyn ToSql)] = &[(":digest", &digest), (":now", &now)];
            writer.execute(USE_CODE_SQL, used).map_err(store_error("use a code"))?;
            self.check_code(&found, form, client_id, verifier)?;
            let user = found.user.parse::<UserId>();
            let user = user.map_err(|_| OAuthError::invalid_grant("the user does not exist"))?;
            let key = KeyId::generate().map_err(ServerError::from)?;
            add_grant(writer, &key, &found, now).map_err(store_error("add a grant"))?;
            let code: &[(&str, &dyn ToSql)] = &[(":digest", &digest), (":key", &key.as_str())];
            writer
                .execute(SET_CODE_GRANT_SQL, code)
                .map_err(store_error("record the grant of a code"))?;
            let rights = Rights::from_scopes(found.scopes.split(' '));
            let pair = TokenPair {
                key: &key,
                resource: &found.resource,
                granted: rights,
                rights,
                grant_expires_at: now.plus(GRANT_LIFETIME),
            };
            let (access, refresh) = issue_pair(writer, &pair, now)?;
            Self::record_client_use(writer, client_id, now)
                .map_err(store_error("record the use of a client"))?;
            let (client_name, lifetime) = (found.client_name, ACCESS_LIFETIME);
            Ok(IssuedTokens { access, refresh, lifetime, rights, user, client_name })
        })
    }

    fn check_code(
        &self,
        code: &Code,
        form: &TokenForm,
        client_id: &str,
        verifier: &str,
    ) -> Result<(), OAuthError> {
        let wrong = |problem: &str| Err(OAuthError::invalid_grant(problem));
        if code.client_id != client_id {
            return wrong("this code was issued to another client");
        }
        if code.is_expired {
            return wrong("this code has expired: log in again");
        }
        // A client that sent the address with its first request must repeat it.
        if form.get("redirect_uri").is_some_and(|address| address != code.redirect_uri) {
            return wrong("redirect_uri is not the address that the code was sent to");
        }
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        let is_right: bool = challenge.as_bytes().ct_eq(code.challenge.as_bytes()).into();
        if !VERIFIER_LENGTHS.contains(&verifier.len()) || !is_right {
            return wrong("code_verifier does not match code_challenge");
        }
        if code.is_suspended {
            return wrong("the user is suspended");
        }
        if code.resource != self.resource {
            return wrong("the address of this server has changed: log in again");
        }
        Ok(())
    }

    fn exchange_refresh_token(
        &self,
        form: &TokenForm,
        client_id: &str,
    ) -> Result<IssuedTokens, ExchangeError> {
        let text = form.require("refresh_token")?;
        let unknown = || OAuthError::invalid_grant("this refresh token is not valid: log in again");
        let token = GrantToken::parse(&text.into());
        let token = token.filter(|token| token.kind() == GrantTokenKind::Refresh);
        let token = token.ok_or_else(unknown)?;
        let (digest, now) = (token.digest(), Timestamp::now());
        self.write_exchange(|writer| {
            let this: &[(&str, &dyn ToSql)] = &[(":digest", &digest)];
            let found = writer.with_reader(|reader| {
                let sql = include_str!("sql/refresh_token.sql");
                reader.query_first(sql, this, |row| RefreshToken::from_row(row, now))
            });
            let found = found.map_err(store_error("look up a refresh token"))?;
            let found = found.ok_or_else(unknown)?;
            if found.is_used && !found.is_revoked {
                let revoked = revoke_used_twice(writer, Some(found.key.as_str()), now)?;
                let error = OAuthError::invalid_grant(
                    "this refresh token was used before, so the grant was revoked: log in again",
                );
                return Err(ExchangeError::UsedTwice { error, revoked });
            }
            let user = found.user.parse::<UserId>();
            let (Ok(user), true) = (user, self.is_renewable(&found, client_id)) else {
                return Err(unknown().into());
            };
            let granted = Rights::from_scopes(found.scopes.split(' '));
            let rights = narrow(granted, form.get("scope"))?;
            let used: &[(&str, &dyn ToSql)] = &[(":digest", &digest), (":now", &now)];
            writer.execute(USE_TOKEN_SQL, used).map_err(store_error("use a refresh token"))?;
            let pair = TokenPair {
                key: &found.key,
                resource: &found.resource,
                granted,
                rights,
                grant_expires_at: found.grant_expires_at,
            };
            let (access, refresh) = issue_pair(writer, &pair, now)?;
            Self::record_client_use(writer, client_id, now)
                .map_err(store_error("record the use of a client"))?;
            let (client_name, lifetime) = (found.client_name, ACCESS_LIFETIME);
            Ok(IssuedTokens { access, refresh, lifetime, rights, user, client_name })
        })
    }

    fn is_renewable(&self, token: &RefreshToken, client_id: &str) -> bool {
        token.client_id == client_id
            && token.resource == self.resource
            && token.is_current
            && !token.is_revoked
    }
}

impl Code {
    fn from_row(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<Self> {
        let expires_at: Timestamp = row.get("expires_at")?;
        Ok(Self {
            client_id: row.get("client_id")?,
            client_name: row.get("client_name")?,
            user: row.get("user")?,
            redirect_uri: row.get("redirect_uri")?,
            challenge: row.get("challenge")?,
            resource: row.get("resource")?,
            scopes: row.get("scopes")?,
            access: row.get("access")?,
            is_expired: expires_at <= now,
            is_used: row.get::<_, Option<Timestamp>>("used_at")?.is_some(),
            is_suspended: row.get::<_, Option<Timestamp>>("suspended_at")?.is_some(),
            key: row.get("key")?,
        })
    }
}

impl RefreshToken {
    fn from_row(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<Self> {
        let key: String = row.get("key")?;
        let expires_at: Timestamp = row.get("expires_at")?;
        let grant_expires_at: Option<Timestamp> = row.get("grant_expires_at")?;
        Ok(Self {
            key: key.parse().map_err(|error| {
                let kind = rusqlite::types::Type::Text;
                rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
            })?,
            user: row.get("user")?,
            client_id: row.get("client_id")?,
            client_name: row.get("client_name")?,
            scopes: row.get("scopes")?,
            resource: row.get("resource")?,
            grant_expires_at,
            is_current: expires_at > now
                && grant_expires_at.is_none_or(|end| end > now)
                && row.get::<_, Option<Timestamp>>("suspended_at")?.is_none(),
            is_used: row.get::<_, Option<Timestamp>>("used_at")?.is_some(),
            is_revoked: row.get::<_, Option<Timestamp>>("revoked_at")?.is_some(),
        })
    }
}

/// Returns the rights that a client keeps when it renews its tokens with a scope.
fn narrow(granted: Rights, scope: Option<&str>) -> Result<Rights, OAuthError> {
    let Some(scope) = scope else { return Ok(granted) };
    let requested = Rights::from_scopes(scope.split(' '));
    let is_granted = |right: &Right| !requested.contains(*right) || granted.contains(*right);
    match Right::ALL.iter().all(is_granted) {
        true if requested.contains(Right::Read) => Ok(requested),
        // Scopes of other servers, such as `offline_access`, mean nothing here.
        true => Ok(granted),
        false => Err(OAuthError::new("invalid_scope", format!("only `{granted}` was granted"))),
    }
}

/// Access and refresh token of one grant that are issued together.
struct TokenPair<'a> {
    key: &'a KeyId,
    resource: &'a str,
    /// Rights of the grant, which the refresh token keeps.
    granted: Rights,
    /// Rights of the access token.
    rights: Rights,
    grant_expires_at: Option<Timestamp>,
}

fn issue_pair(
    writer: &Writer<'_>,
    pair: &TokenPair<'_>,
    now: Timestamp,
) -> Result<(GrantToken, GrantToken), ServerError> {
    let grant_end = pair.grant_expires_at;
    let issue = |kind: GrantTokenKind, rights: Rights, lifetime: Duration| {
        let token = GrantToken::generate(kind, pair.key)?;
        let end = [now.plus(lifetime), grant_end].into_iter().flatten().min();
        let added = writer.execute(
            ADD_TOKEN_SQL,
            &[
                (":digest", &token.digest()),
                (":key", &pair.key.as_str()),
                (":kind", &kind.as_str()),
                (":resource", &pair.resource),
                (":scopes", &rights.to_string()),
                (":expires_at", &end.unwrap_or(now)),
            ],
        );
        added.map_err(store_error("add a token"))?;
        Ok::<_, ServerError>(token)
    };
    Ok((
        issue(GrantTokenKind::Access, pair.rights, ACCESS_LIFETIME)?,
        issue(GrantTokenKind::Refresh, pair.granted, REFRESH_LIFETIME)?,
    ))
}

/// Adds a grant, and removes what is no longer needed: expired codes and tokens, grants that ended
/// long ago, and the oldest grants beyond the limit.
fn add_grant(
    writer: &Writer<'_>,
    key: &KeyId,
    code: &Code,
    now: Timestamp,
) -> Result<(), StoreError> {
    let expired: &[(&str, &dyn ToSql)] = &[(":since", &now.minus(EXPIRED_RETENTION))];
    writer.execute(DELETE_EXPIRED_CODES_SQL, expired)?;
    writer.execute(DELETE_EXPIRED_TOKENS_SQL, expired)?;
    let ended: &[(&str, &dyn ToSql)] = &[(":since", &now.minus(ENDED_RETENTION))];
    writer.execute(DELETE_ENDED_GRANTS_SQL, ended)?;
    let limit: &[(&str, &dyn ToSql)] = &[
        (":client_id", &code.client_id),
        (":user", &code.user),
        (":now", &now),
        (":max", &(MAX_GRANTS - 1)),
    ];
    writer.execute(include_str!("sql/revoke_oldest_grants.sql"), limit)?;
    writer.execute(
        include_str!("sql/add_grant.sql"),
        &[
            (":id", &key.as_str()),
            (":user", &code.user),
            (":name", &code.client_name),
            (":scopes", &code.scopes),
            (":access", &code.access),
            (":now", &now),
            (":expires_at", &now.plus(GRANT_LIFETIME)),
            (":client_id", &code.client_id),
            (":redirect_uri", &code.redirect_uri),
        ],
    )?;
    Ok(())
}

/// Ends a grant whose code or refresh token was used twice.
fn revoke_used_twice(
    writer: &Writer<'_>,
    key: Option<&str>,
    now: Timestamp,
) -> Result<Option<KeyId>, ServerError> {
    let Some(key) = key else { return Ok(None) };
    let parameters: &[(&str, &dyn ToSql)] = &[(":key", &key), (":now", &now)];
    writer
        .execute(include_str!("sql/revoke_grant.sql"), parameters)
        .map_err(store_error("revoke a grant"))?;
    Ok(key.parse().ok())
}
