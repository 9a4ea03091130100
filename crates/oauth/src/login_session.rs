//! Browsers in which users are logged in, and those in which they were.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rusqlite::ToSql;
use vademecum_core::auth::{Rights, UserId};
use vademecum_model::Timestamp;

use super::{
    AuthorizationServer, ServerError,
    login_attempt::{LoginError, LoginUser},
    secret::{Secret, hash_texts},
};

/// Inserts a login. Only the digest of its cookie is stored.
const ADD_SESSION_SQL: &str =
    "INSERT INTO login_sessions (digest, user, expires_at) VALUES (:digest, :user, :expires_at)";
/// Deletes the logins that have expired.
const DELETE_EXPIRED_SESSIONS_SQL: &str = "DELETE FROM login_sessions WHERE expires_at <= :now";
/// Deletes the login `:digest`.
const DELETE_SESSION_SQL: &str = "DELETE FROM login_sessions WHERE digest = :digest";

/// Makes the login `:digest` last until `:expires_at`.
const EXTEND_SESSION_SQL: &str =
    "UPDATE login_sessions SET expires_at = :expires_at WHERE digest = :digest";
/// Deletes the login of `:user` whose digest is `:digest`.
const END_SESSION_SQL: &str = "DELETE FROM login_sessions WHERE digest = :digest AND user = :user";

/// Time without use after which a browser must log in again.
const SESSION_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// Precision of the time of the last use: a login is written at most once in this time.
const EXTENSION_INTERVAL: Duration = Duration::from_hours(24);
/// Beginning of the sealed mark of a browser, before its identifier and the user.
const BROWSER_MARK: &str = "login-browser ";

/// Browser in which a user is logged in.
#[derive(Clone, Debug)]
pub struct LoginSession {
    /// User who is logged in.
    pub user: UserId,
    /// Rights that the user may give to a client.
    pub grantable: Rights,
    cookie: Secret,
    /// Mark of a browser that has logged in before, if this login is new.
    browser_mark: Option<String>,
}

impl LoginSession {
    /// Returns the hash of the cookie, by which the login is stored.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.cookie.digest()
    }

    /// Returns the value of the cookie.
    pub fn cookie(&self) -> &str {
        self.cookie.expose()
    }

    /// Returns the mark that the browser is to keep, which distinguishes later logins
    /// of the user from those of strangers; `None` for a login that is not new.
    pub fn browser_mark(&self) -> Option<&str> {
        self.browser_mark.as_deref()
    }

    /// Returns the token that the forms of this session carry. A page of another origin does not
    /// know it, because it cannot read the cookie.
    pub fn csrf_token(&self) -> String {
        csrf_token(self.cookie.expose())
    }
}

/// A browser in which a user is logged in, as the user sees it.
#[derive(Clone, Debug)]
pub struct LoginRecord {
    /// Identifier: the hash of the cookie, which does not log anyone in.
    pub id: String,
    /// Last use, to within a day.
    pub last_used_at: Timestamp,
    /// Whether this is the browser that asks.
    pub is_current: bool,
}

/// Returns the token that the forms of a browser with this cookie carry.
fn csrf_token(cookie: &str) -> String {
    hash_texts(&["csrf", cookie])
}

impl AuthorizationServer {
    /// Returns a new cookie for a browser that is not logged in, and the token for its forms.
    pub fn new_browser(&self) -> Result<(String, String), ServerError> {
        let cookie = Secret::generate()?.expose().to_owned();
        let token = csrf_token(&cookie);
        Ok((cookie, token))
    }

    /// Returns the token for the forms of the browser with this cookie.
    pub fn form_token(&self, cookie: &str) -> String {
        csrf_token(cookie)
    }

    /// Returns true if a form came from a page that the browser with this cookie was shown.
    pub fn is_own_form(&self, cookie: &str, token: &str) -> bool {
        use subtle::ConstantTimeEq as _;
        csrf_token(cookie).as_bytes().ct_eq(token.as_bytes()).into()
    }

    /// Returns the session of a cookie, if a user is logged in.
    pub fn find_session(&self, cookie: &str) -> Result<Option<LoginSession>, ServerError> {
        let cookie = Secret::of_text(cookie);
        let (digest, now) = (cookie.digest(), Timestamp::now());
        let found = self.read("look up a login", |reader| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":digest", &digest), (":now", &now)];
            reader.query_first(include_str!("sql/session.sql"), parameters, |row| {
                let expires_at: Timestamp = row.get("expires_at")?;
                Ok((row.get::<_, String>("user")?, row.get::<_, String>("grantable")?, expires_at))
            })
        })?;
        if let Some((_, _, expires_at)) = &found {
            self.extend_session(digest, *expires_at, now);
        }
        Ok(found.and_then(|(user, grantable, _)| {
            let user: UserId = user.parse().ok()?;
            let is_served = self.single_user.as_ref().is_none_or(|single| *single == user);
            let grantable = self.grantable(&grantable);
            is_served.then_some(LoginSession { user, grantable, cookie, browser_mark: None })
        }))
    }

    /// Makes a login that is used last longer. A failure costs the extension only.
    fn extend_session(&self, digest: [u8; 32], expires_at: Timestamp, now: Timestamp) {
        let Some(extended) = now.plus(SESSION_LIFETIME) else { return };
        if expires_at > extended.minus(EXTENSION_INTERVAL) {
            return;
        }
        let written = self.write("extend a login", |writer| {
            writer.execute(EXTEND_SESSION_SQL, &[(":digest", &digest), (":expires_at", &extended)])
        });
        if let Err(error) = written {
            tracing::warn!(%error, "a login was not extended");
        }
    }

    /// Returns the browsers in which a user is logged in, the last used first.
    pub fn list_sessions(&self, current: &LoginSession) -> Result<Vec<LoginRecord>, ServerError> {
        let own = current.digest();
        self.read("list logins", |reader| {
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":user", &current.user.as_str()), (":now", &Timestamp::now())];
            reader.query_all(include_str!("sql/sessions.sql"), parameters, |row| {
                let digest: Vec<u8> = row.get("digest")?;
                let expires_at: Timestamp = row.get("expires_at")?;
                Ok(LoginRecord {
                    id: URL_SAFE_NO_PAD.encode(&digest),
                    last_used_at: expires_at.minus(SESSION_LIFETIME),
                    is_current: digest == own,
                })
            })
        })
    }

    /// Ends the login with this identifier, if it is one of the user.
    pub fn end_session(&self, user: &UserId, id: &str) -> Result<bool, ServerError> {
        let Ok(digest) = URL_SAFE_NO_PAD.decode(id) else { return Ok(false) };
        let ended = self.write("end a login", |writer| {
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":digest", &digest), (":user", &user.as_str())];
            writer.execute(END_SESSION_SQL, parameters)
        })?;
        Ok(ended > 0)
    }

    /// Ends the session of a cookie.
    pub fn log_out(&self, cookie: &str) -> Result<(), ServerError> {
        let digest = Secret::of_text(cookie).digest();
        self.write("log out", |writer| writer.execute(DELETE_SESSION_SQL, &[(":digest", &digest)]))
            .map(drop)
    }

    pub(crate) fn open_session(
        &self,
        user: &UserId,
        found: &LoginUser,
    ) -> Result<Result<LoginSession, LoginError>, ServerError> {
        if found.is_suspended {
            return Ok(Err(LoginError::Suspended));
        }
        let cookie = Secret::generate()?;
        let now = Timestamp::now();
        self.write("log in", |writer| {
            writer.execute(DELETE_EXPIRED_SESSIONS_SQL, &[(":now", &now)])?;
            writer.execute(
                ADD_SESSION_SQL,
                &[
                    (":digest", &cookie.digest()),
                    (":user", &user.as_str()),
                    (":expires_at", &now.plus(SESSION_LIFETIME)),
                ],
            )
        })?;
        let browser_mark = self.mark_browser(user)?;
        let (user, grantable) = (user.clone(), found.grantable);
        Ok(Ok(LoginSession { user, grantable, cookie, browser_mark }))
    }

    /// Returns a new mark of a browser in which this user has logged in.
    fn mark_browser(&self, user: &UserId) -> Result<Option<String>, ServerError> {
        let Some(key) = &self.server_key else { return Ok(None) };
        let browser = Secret::generate()?;
        Ok(key.seal(&format!("{BROWSER_MARK}{} {user}", browser.expose())))
    }

    /// Returns the identifier of a browser in which this user has logged in before.
    pub(crate) fn find_browser(&self, mark: &str, user: &UserId) -> Option<String> {
        let mark = self.server_key.as_ref()?.open_sealed(mark)?;
        let (browser, marked) = mark.strip_prefix(BROWSER_MARK)?.split_once(' ')?;
        (marked == user.as_str()).then(|| browser.to_owned())
    }
}
