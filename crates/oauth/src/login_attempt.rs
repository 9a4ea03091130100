//! Attempts to log in to an account: they are counted, and too many must wait.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use rusqlite::ToSql;
use secrecy::SecretString;
use vademecum_core::auth::{Rights, UserId};
use vademecum_model::Timestamp;

use super::{AuthorizationServer, ServerError, guess_limit::Guesser};

/// Maximum length of a name whose guesses are counted, in characters.
const MAX_NAME_LENGTH: usize = 200;

/// Refused login. The messages are for the user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Name or password is wrong, or the user has no password.
    #[error("The name or the password is wrong.")]
    Wrong,
    /// Name, password or second factor is wrong; the user is not told which.
    #[error("The name, the password or the code is wrong.")]
    WrongCombination {
        /// Whether the password was right, for the audit log only.
        is_password_right: bool,
    },
    /// The code was entered too long after the password, or in another browser.
    #[error("This login took too long. Begin again.")]
    Expired,
    /// The passkey is unknown, or its answer is not valid or too late.
    #[error("This passkey is not valid here, or this page was too old. Try again.")]
    WrongPasskey,
    /// The code is unknown, used or expired.
    #[error("This code is not valid: it was used, or it is too old. Create a new one.")]
    WrongCode,
    /// The browser runs under another account of the computer than the server for a single user.
    #[error(
        "This library belongs to another account of this computer, and only that one can read it."
    )]
    OtherAccount,
    /// The user is suspended.
    #[error("This user is suspended. Ask the operator of the server.")]
    Suspended,
    /// The outside provider names a user who has no account here.
    #[error("This user has no account on this server. Ask its operator.")]
    NoAccount,
    /// The address has too many failed attempts.
    #[error("Too many failed attempts. Wait {} seconds.", .wait.as_secs() + 1)]
    TooManyAttempts {
        /// Remaining waiting time.
        wait: Duration,
    },
    /// Too many logins at once.
    #[error("Too many people log in at the moment. Try again.")]
    Busy,
}

impl LoginError {
    /// Returns the machine-readable reason in the audit log.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Wrong
            | Self::WrongCode
            | Self::WrongPasskey
            | Self::WrongCombination { is_password_right: false } => "invalid",
            Self::WrongCombination { is_password_right: true } => "wrong_code",
            Self::Expired => "expired",
            Self::Suspended => "suspended",
            Self::NoAccount => "no_user",
            Self::OtherAccount => "other_account",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::Busy => "unavailable",
        }
    }
}

/// Place that a login comes from.
#[derive(Clone, Copy, Debug)]
pub struct LoginOrigin<'a> {
    /// Address of the browser.
    pub address: Option<IpAddr>,
    /// [Mark](super::LoginSession::browser_mark) of the browser, or empty.
    pub browser_mark: &'a str,
    /// Token for the forms of the browser.
    pub form_token: &'a str,
}

/// Stored properties of a user who logs in.
#[derive(Debug)]
pub(crate) struct LoginUser {
    pub(crate) password: Option<String>,
    pub(crate) has_second_factor: bool,
    pub(crate) grantable: Rights,
    pub(crate) is_suspended: bool,
}

/// Attempt to log in to an account, which is counted.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) user: Option<UserId>,
    pub(crate) found: Option<LoginUser>,
    pub(crate) guesser: Guesser,
    pub(crate) begun: Instant,
    address: Option<IpAddr>,
}

impl Attempt {
    /// Returns true if the browser has logged in to the account before.
    pub(crate) fn is_known(&self) -> bool {
        self.guesser.browser.is_some()
    }
}

impl AuthorizationServer {
    /// Counts an attempt to log in to an account, and finds it. Fails if there were too many.
    pub(crate) fn begin_attempt(
        &self,
        name: &str,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<Attempt, LoginError>, ServerError> {
        let name = name.trim();
        let user: Option<UserId> = name.parse().ok().filter(|_| self.has_passwords());
        let browser = user.as_ref().and_then(|user| self.find_browser(origin.browser_mark, user));
        // The failures of others at an address must not keep out a user who has logged in before.
        if browser.is_none()
            && let Some(refusal) = self.find_wait(origin.address)
        {
            return Ok(Err(refusal));
        }
        let found = user.as_ref().map(|user| self.find_login_user(user)).transpose()?.flatten();
        let account: String = name.chars().take(MAX_NAME_LENGTH).collect();
        let (guesser, begun) = (Guesser { account, browser }, Instant::now());
        Ok(match self.guesses.begin(&guesser, found.is_some(), begun) {
            Ok(()) => Ok(Attempt { user, found, guesser, begun, address: origin.address }),
            Err(wait) => Err(LoginError::TooManyAttempts { wait }),
        })
    }

    /// Returns true if the password of an attempt is right; `None` if too many passwords wait to be
    /// compared, and the attempt does not count.
    pub(crate) fn verify_password(
        &self,
        attempt: &Attempt,
        password: &SecretString,
    ) -> Option<bool> {
        let hash = attempt.found.as_ref().and_then(|found| found.password.as_deref());
        let verified = self.passwords.verify(password, hash, attempt.is_known()).ok();
        if verified.is_none() {
            self.forgive(attempt);
        }
        verified
    }

    /// Takes back an attempt.
    pub(crate) fn forgive(&self, attempt: &Attempt) {
        self.guesses.forgive(&attempt.guesser, attempt.found.is_some(), attempt.begun);
    }

    /// Records that an attempt failed, and returns its reason.
    pub(crate) fn refuse(&self, attempt: &Attempt, refusal: LoginError) -> LoginError {
        if attempt.is_known() { refusal } else { self.fail(attempt.address, refusal) }
    }

    pub(crate) fn find_login_user(&self, user: &UserId) -> Result<Option<LoginUser>, ServerError> {
        self.read("look up a user", |reader| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":user", &user.as_str())];
            reader.query_first(include_str!("sql/login_user.sql"), parameters, |row| {
                let grantable: String = row.get("grantable")?;
                Ok(LoginUser {
                    password: row.get("password")?,
                    has_second_factor: row.get("has_second_factor")?,
                    grantable: self.grantable(&grantable),
                    is_suspended: row.get::<_, Option<Timestamp>>("suspended_at")?.is_some(),
                })
            })
        })
    }

    /// Returns the rights that a user may give. The only user of a server may give all.
    pub(crate) fn grantable(&self, stored: &str) -> Rights {
        match self.single_user {
            Some(_) => Rights::ALL,
            None => Rights::from_scopes([stored]),
        }
    }

    /// Returns the refusal of an address with too many failures, which must wait.
    pub fn find_wait(&self, address: Option<IpAddr>) -> Option<LoginError> {
        let wait = self.throttle.remaining_wait(throttled_address(address), Instant::now())?;
        Some(LoginError::TooManyAttempts { wait })
    }

    /// Records a failed login, and returns its reason.
    pub fn fail(&self, address: Option<IpAddr>, refusal: LoginError) -> LoginError {
        self.throttle.record_failure(throttled_address(address), Instant::now());
        refusal
    }
}

/// Returns the address whose failures are counted. Callers without one, on a Unix socket, count as one.
pub(crate) fn throttled_address(address: Option<IpAddr>) -> IpAddr {
    address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}
