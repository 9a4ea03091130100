//! Logins of users: by password and by one-time code.

use std::{fmt, net::IpAddr, time::Duration};

use rusqlite::ToSql;
use secrecy::SecretString;
use vademecum_accounts::AccountError;
use vademecum_core::auth::{Right, UserId};
use vademecum_model::Timestamp;
use vademecum_store::{StoreError, Writer};

use super::{
    AuthorizationServer, LoginError, LoginOrigin, LoginSession, LoginStep, NewPassword,
    ServerError, password::hash_password, secret::Secret,
};

/// Inserts a one-time code. Only its digest is stored.
const ADD_LOGIN_CODE_SQL: &str =
    "INSERT INTO login_codes (digest, user, expires_at) VALUES (:digest, :user, :expires_at)";
/// Counts the users who can log in with a password.
const COUNT_PASSWORDS_SQL: &str =
    "SELECT count(*) AS users FROM users WHERE password IS NOT NULL AND suspended_at IS NULL";
/// Deletes the one-time code `:digest`, and those that have expired.
const DELETE_LOGIN_CODES_SQL: &str =
    "DELETE FROM login_codes WHERE digest = :digest OR expires_at <= :now";
/// Deletes the logins of a user.
pub(crate) const DELETE_SESSIONS_SQL: &str = "DELETE FROM login_sessions WHERE user = :user";
/// Reads the user of the one-time code `:digest`, if it is valid.
const LOGIN_CODE_SQL: &str =
    "SELECT user FROM login_codes WHERE digest = :digest AND expires_at > :now";

/// Time for which a one-time code is valid.
const CODE_LIFETIME: Duration = Duration::from_mins(10);
/// Time for which a one-time code in a link is valid that a browser of the same account opens.
const LOCAL_CODE_LIFETIME: Duration = Duration::from_mins(1);

/// Time for which a one-time code is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeLifetime {
    /// One minute: a browser on this computer opens the link with the code at once.
    Local,
    /// Ten minutes: a person takes the code to another device.
    Long,
}

impl CodeLifetime {
    fn duration(self) -> Duration {
        match self {
            Self::Local => LOCAL_CODE_LIFETIME,
            Self::Long => CODE_LIFETIME,
        }
    }
}

impl fmt::Display for CodeLifetime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Local => "within 60 seconds",
            Self::Long => "within 10 minutes",
        })
    }
}

impl AuthorizationServer {
    /// Logs a user in by name and password, or asks for the code of the second factor. An unknown user
    /// is refused as a wrong password is, after the same work. An address or an account with too many
    /// failures must wait; their attempts are not checked. A browser with the mark of the account
    /// waits for its own failures only.
    pub fn log_in(
        &self,
        name: &str,
        password: &SecretString,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<LoginStep, LoginError>, ServerError> {
        let attempt = match self.begin_attempt(name, origin)? {
            Ok(attempt) => attempt,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let Some(is_right) = self.verify_password(&attempt, password) else {
            return Ok(Err(LoginError::Busy));
        };
        if self.asks_for_code(&attempt)? {
            return self.begin_pending_login(&attempt, is_right, origin).map(Ok);
        }
        match (&attempt.user, &attempt.found) {
            (Some(user), Some(found)) if is_right => {
                self.forgive(&attempt);
                Ok(self.open_session(user, found)?.map(LoginStep::Done))
            }
            _ => Ok(Err(self.refuse(&attempt, LoginError::Wrong))),
        }
    }

    /// Logs a browser in by a one-time code, which is then used up.
    pub fn redeem_code(
        &self,
        typed: &str,
        address: Option<IpAddr>,
    ) -> Result<Result<LoginSession, LoginError>, ServerError> {
        if let Some(refusal) = self.find_wait(address) {
            return Ok(Err(refusal));
        }
        let Some(code) = Secret::of_code(typed) else {
            return Ok(Err(self.fail(address, LoginError::WrongCode)));
        };
        let (digest, now) = (code.digest(), Timestamp::now());
        let user = self.write("redeem a login code", |writer| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":digest", &digest), (":now", &now)];
            let user: Option<String> = writer.with_reader(|reader| {
                reader.query_first(LOGIN_CODE_SQL, parameters, |row| row.get("user"))
            })?;
            writer.execute(DELETE_LOGIN_CODES_SQL, parameters)?;
            Ok(user)
        })?;
        let user: Option<UserId> = user.and_then(|name| name.parse().ok());
        match user {
            Some(user) => self.log_in_as(&user),
            None => Ok(Err(self.fail(address, LoginError::WrongCode))),
        }
    }

    /// Logs in a user whose identity was proved elsewhere.
    pub fn log_in_as(
        &self,
        user: &UserId,
    ) -> Result<Result<LoginSession, LoginError>, ServerError> {
        match self.find_login_user(user)? {
            Some(found) => self.open_session(user, &found),
            None => Ok(Err(LoginError::NoAccount)),
        }
    }

    /// Adds an account for a user whom the outside provider proved, unless there is one.
    pub fn add_provider_user(&self, user: &UserId) -> Result<(), ServerError> {
        match self.accounts.add_user(user) {
            Ok(()) | Err(AccountError::UserExists(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a one-time code that logs a browser in as `user`, within `lifetime`. The user of a server for one user
    /// gets an account first, if there is none. Fails with [`AccountError::UnknownUser`] for others.
    pub fn create_login_code(
        &self,
        user: &UserId,
        lifetime: CodeLifetime,
    ) -> Result<String, ServerError> {
        if self.find_login_user(user)?.is_none() {
            if self.single_user.as_ref() != Some(user) {
                return Err(AccountError::UnknownUser(user.clone()).into());
            }
            self.accounts.add_user(user)?;
        }
        let code = Secret::generate_code()?;
        let expires_at = Timestamp::now().plus(lifetime.duration());
        self.write("create a login code", |writer| {
            writer.execute(
                ADD_LOGIN_CODE_SQL,
                &[
                    (":digest", &code.digest()),
                    (":user", &user.as_str()),
                    (":expires_at", &expires_at),
                ],
            )
        })?;
        Ok(code.expose().to_owned())
    }

    /// Sets the password of a user, or removes it, and ends the user's logins in browsers. Fails
    /// with [`AccountError::UnknownUser`] if there is no such user.
    pub fn set_password(
        &self,
        user: &UserId,
        password: Option<&NewPassword>,
    ) -> Result<(), ServerError> {
        let hash = password
            .map(|password| hash_password(password.expose()))
            .transpose()
            .map_err(ServerError::Hash)?;
        self.change_user(user, |writer| {
            let named: &[(&str, &dyn ToSql)] = &[(":user", &user.as_str())];
            writer.execute(DELETE_SESSIONS_SQL, named)?;
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":user", &user.as_str()), (":password", &hash)];
            writer.execute(include_str!("sql/set_password.sql"), parameters)
        })
    }

    /// Returns the number of users with a password who are not suspended.
    pub fn count_passwords(&self) -> Result<u32, ServerError> {
        let counted = self.read("count passwords", |reader| {
            reader.query_first(COUNT_PASSWORDS_SQL, &[], |row| row.get("users"))
        })?;
        Ok(counted.unwrap_or_default())
    }

    /// Sets the strongest right that a user may give to clients. Grants that exist keep theirs.
    /// Fails with [`AccountError::UnknownUser`] if there is no such user.
    pub fn set_grantable(&self, user: &UserId, right: Right) -> Result<(), ServerError> {
        self.change_user(user, |writer| {
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":user", &user.as_str()), (":right", &right.as_str())];
            writer.execute(include_str!("sql/set_grantable.sql"), parameters)
        })
    }

    fn change_user(
        &self,
        user: &UserId,
        change: impl FnMut(&Writer<'_>) -> Result<usize, StoreError>,
    ) -> Result<(), ServerError> {
        match self.write("change a user", change)? {
            0 => Err(AccountError::UnknownUser(user.clone()).into()),
            _ => Ok(()),
        }
    }
}
