//! Logins between the password and the code of the second factor. Nothing about them is stored: the
//! page of the code carries them, encrypted, so that any server of an archive can finish them.
//!
//! The page is the same for a right and for a wrong password, and also for half of the names that are
//! no accounts. So a person who lacks the second factor does not learn whether a password is right.

use std::time::{Duration, Instant};

use vademecum_model::Timestamp;

use super::{
    AuthorizationServer, LoginError, LoginOrigin, LoginSession, ServerError,
    login_attempt::{Attempt, throttled_address},
    secret::hash_texts,
};

/// Beginning of the text of a pending login, before it is encrypted.
const PENDING_LOGIN: &str = "pending-login";
/// Beginning of the text by which names that are no accounts are divided.
const DECOY: &str = "second-factor-decoy";
/// Time within which the code must be entered.
const LIFETIME: Duration = Duration::from_mins(5);
/// Returns a row if a user of this server has a second factor.
const ANY_SECOND_FACTOR_SQL: &str = "SELECT 1 AS any FROM second_factors LIMIT 1";

/// Outcome of a right password, or of one that looks like it.
#[derive(Debug)]
pub enum LoginStep {
    /// The browser is logged in.
    Done(LoginSession),
    /// The user must enter the code of a second factor.
    NeedsCode(PendingLogin),
}

/// Login whose password was entered.
#[derive(Debug)]
pub struct PendingLogin {
    sealed: String,
    is_password_right: bool,
}

impl PendingLogin {
    /// Returns the text that the page of the code carries.
    pub fn sealed(&self) -> &str {
        &self.sealed
    }

    /// Returns true if the password was right, which only the audit log may show.
    pub fn is_password_right(&self) -> bool {
        self.is_password_right
    }
}

/// Content of a pending login.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    is_password_right: bool,
    /// The attempt counts as a failure of its address until the login is complete.
    counts_for_address: bool,
    /// Time of the attempt, after the start of the server that counted it.
    begun: Duration,
    expires_at: Timestamp,
    form_token: String,
    /// Hash of the stored password, which must not have changed until the login is complete.
    password: String,
    name: String,
}

impl Content {
    fn to_text(&self) -> String {
        format!(
            "{PENDING_LOGIN} {} {} {:020} {} {} {} {}",
            u8::from(self.is_password_right),
            u8::from(self.counts_for_address),
            self.begun.as_nanos(),
            self.expires_at,
            self.form_token,
            self.password,
            self.name
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(8, ' ');
        let is_pending = words.next()? == PENDING_LOGIN;
        let content = Self {
            is_password_right: words.next()? == "1",
            counts_for_address: words.next()? == "1",
            begun: Duration::from_nanos(words.next()?.parse().ok()?),
            expires_at: Timestamp::parse(words.next()?).ok()?,
            form_token: words.next()?.to_owned(),
            password: words.next()?.to_owned(),
            name: words.next()?.to_owned(),
        };
        is_pending.then_some(content)
    }
}

impl AuthorizationServer {
    /// Returns true if an attempt needs a code: the account has a second factor, or there is no such
    /// account and it is to look like one.
    pub(crate) fn asks_for_code(&self, attempt: &Attempt) -> Result<bool, ServerError> {
        match &attempt.found {
            Some(found) if found.password.is_some() => Ok(found.has_second_factor),
            Some(_) | None => Ok(self.is_decoy(&attempt.guesser.account) && self.has_factors()?),
        }
    }

    /// Divides names into two halves, which differ from server to server.
    fn is_decoy(&self, name: &str) -> bool {
        let key = self.server_key.as_ref();
        let sealed = key.and_then(|key| key.seal(&format!("{DECOY} {name}")));
        sealed.and_then(|sealed| sealed.bytes().next()).is_some_and(|byte| byte % 2 == 0)
    }

    fn has_factors(&self) -> Result<bool, ServerError> {
        let found = self.read("look up second factors", |reader| {
            reader.query_first(ANY_SECOND_FACTOR_SQL, &[], |row| row.get::<_, i64>("any"))
        })?;
        Ok(found.is_some())
    }

    /// Asks for the code of the second factor. Until it arrives, the attempt counts as a failure,
    /// whether the password was right or not.
    pub(crate) fn begin_pending_login(
        &self,
        attempt: &Attempt,
        is_password_right: bool,
        origin: &LoginOrigin<'_>,
    ) -> Result<LoginStep, ServerError> {
        let counts_for_address = !attempt.is_known();
        if counts_for_address {
            self.fail(origin.address, LoginError::Wrong);
        }
        let content = Content {
            is_password_right,
            counts_for_address,
            begun: attempt.begun.saturating_duration_since(self.started),
            expires_at: Timestamp::now().plus(LIFETIME).unwrap_or_else(Timestamp::earliest),
            form_token: origin.form_token.to_owned(),
            password: hash_password_of(attempt),
            name: attempt.guesser.account.clone(),
        };
        let key = self.server_key.as_ref().ok_or(ServerError::NoKey)?;
        let sealed = key.seal(&content.to_text()).ok_or(ServerError::NoKey)?;
        Ok(LoginStep::NeedsCode(PendingLogin { sealed, is_password_right }))
    }

    /// Completes a login with the code of the second factor, or with a recovery code. The code is used
    /// up only if the password was right.
    pub fn finish_login(
        &self,
        sealed: &str,
        code: &str,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<LoginSession, LoginError>, ServerError> {
        let Some(pending) = self.open_pending_login(sealed, origin) else {
            return Ok(Err(LoginError::Expired));
        };
        let attempt = match self.begin_attempt(&pending.name, origin)? {
            Ok(attempt) => attempt,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if pending.password != hash_password_of(&attempt) {
            return Ok(Err(self.refuse(&attempt, LoginError::Expired)));
        }
        let is_password_right = pending.is_password_right;
        let refusal = LoginError::WrongCombination { is_password_right };
        let (Some(user), Some(found)) = (&attempt.user, &attempt.found) else {
            return Ok(Err(self.refuse(&attempt, refusal)));
        };
        let proof = self.match_code(user, code)?;
        let is_right = match proof {
            Some(proof) if is_password_right => self.use_up(user, &proof)?,
            Some(_) | None => false,
        };
        if !is_right {
            return Ok(Err(self.refuse(&attempt, refusal)));
        }
        self.forgive(&attempt);
        self.forgive_pending_login(&attempt, &pending, origin);
        self.open_session(user, found)
    }

    /// Takes back the attempt that began a login, at most once.
    fn forgive_pending_login(
        &self,
        attempt: &Attempt,
        pending: &Content,
        origin: &LoginOrigin<'_>,
    ) {
        let Some(begun): Option<Instant> = self.started.checked_add(pending.begun) else { return };
        let is_first = self.guesses.forgive(&attempt.guesser, true, begun);
        if is_first && pending.counts_for_address {
            self.throttle.forgive_failure(throttled_address(origin.address));
        }
    }

    fn open_pending_login(&self, sealed: &str, origin: &LoginOrigin<'_>) -> Option<Content> {
        let opened = self.server_key.as_ref()?.open_sealed(sealed)?;
        Content::parse(&opened).filter(|pending| {
            pending.form_token == origin.form_token && pending.expires_at > Timestamp::now()
        })
    }
}

/// Returns the hash of the stored password of an account; that of an empty text without one.
fn hash_password_of(attempt: &Attempt) -> String {
    let stored = attempt.found.as_ref().and_then(|found| found.password.as_deref());
    hash_texts(&[stored.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_login_is_read_as_written() {
        let content = Content {
            is_password_right: true,
            counts_for_address: false,
            begun: Duration::from_millis(7),
            expires_at: Timestamp::parse("2026-01-31T08:00:00Z").unwrap(),
            form_token: "token".to_owned(),
            password: "hash".to_owned(),
            name: "a name with spaces".to_owned(),
        };
        let text = content.to_text();
        assert_eq!(Content::parse(&text), Some(content));
        assert_eq!(Content::parse(&text.replace(PENDING_LOGIN, "login-browser")), None);
        let content = Content::parse(&text).map(|it| Content { is_password_right: false, ..it });
        let other = content.unwrap().to_text();
        assert_eq!(other.len(), text.len(), "the length does not disclose the password");
    }
}
