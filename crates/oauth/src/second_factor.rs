//! Second factors: an authenticator (TOTP) that a user sets up, and recovery codes for its loss. They
//! belong to logins with a password. Codes that the command line prints and logins at an outside
//! provider need none.

use std::time::Duration;

use rusqlite::ToSql;
use secrecy::SecretString;
use vademecum_accounts::AccountError;
use vademecum_core::auth::UserId;
use vademecum_model::Timestamp;
use vademecum_store::{StoreError, Writer};

use super::{
    AuthorizationServer, LoginError, LoginOrigin, LoginSession, ServerError,
    login::DELETE_SESSIONS_SQL, secret::Secret, totp::TotpSecret,
};

/// Deletes the passkeys of a user.
const DELETE_PASSKEYS_SQL: &str = "DELETE FROM passkeys WHERE user = :user";
/// Inserts a second factor, unless the user has one.
const ADD_FACTOR_SQL: &str = "INSERT INTO second_factors (user, secret, last_step, created_at) \
     VALUES (:user, :secret, :step, :now) ON CONFLICT (user) DO NOTHING";
/// Inserts a recovery code. Only its digest is stored.
const ADD_RECOVERY_CODE_SQL: &str =
    "INSERT INTO recovery_codes (digest, user) VALUES (:digest, :user)";
/// Deletes the second factor of a user.
const DELETE_FACTOR_SQL: &str = "DELETE FROM second_factors WHERE user = :user";
/// Deletes the logins of a user in other browsers than that of the login `:digest`.
const DELETE_OTHER_SESSIONS_SQL: &str =
    "DELETE FROM login_sessions WHERE user = :user AND digest <> :digest";
/// Deletes the recovery codes of a user.
const DELETE_RECOVERY_CODES_SQL: &str = "DELETE FROM recovery_codes WHERE user = :user";
/// Reads the second factor of a user.
const FACTOR_SQL: &str = "SELECT secret, last_step FROM second_factors WHERE user = :user";
/// Reads whether the recovery code `:digest` of a user was not used.
const RECOVERY_CODE_SQL: &str =
    "SELECT 1 AS found FROM recovery_codes WHERE digest = :digest AND user = :user";
/// Uses up a recovery code.
const USE_RECOVERY_CODE_SQL: &str =
    "DELETE FROM recovery_codes WHERE digest = :digest AND user = :user";
/// Uses up the codes of a user up to `:step`. Changes nothing if they are used up.
const USE_STEP_SQL: &str = "UPDATE second_factors SET last_step = :step \
     WHERE user = :user AND last_step < :step";

/// Time within which a secret that was shown must be confirmed.
const SETUP_LIFETIME: Duration = Duration::from_mins(15);
/// Number of recovery codes.
const RECOVERY_CODES: usize = 10;
/// Beginning of the stored secret, before it is encrypted.
const FACTOR: &str = "totp-secret";
/// Beginning of a secret that is being set up, before it is encrypted.
const SETUP: &str = "totp-setup";

/// Secret that was generated and is not in use yet. Nothing about it is stored; the page carries it.
#[derive(Clone)]
pub struct SecondFactorSetup {
    /// Secret as people type it into an authenticator.
    pub secret: String,
    /// Address that authenticators read from a picture.
    pub address: String,
    /// Encrypted form, which the page sends back.
    pub sealed: String,
}

impl std::fmt::Debug for SecondFactorSetup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SecondFactorSetup").finish_non_exhaustive()
    }
}

/// Whether a user has a second factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondFactorStatus {
    /// The user has no password, and so no use for a second factor.
    NoPassword,
    /// A password is enough.
    Off,
    /// A code is needed as well.
    On {
        /// Time at which it was set up.
        since: Timestamp,
        /// Number of recovery codes that were not used.
        recovery_codes: u32,
    },
}

/// Refused change of a second factor. The messages are for the user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecondFactorError {
    /// The password or the code is wrong.
    #[error("The password or the code is wrong.")]
    Wrong,
    /// The code is wrong or was used.
    #[error("This code is wrong, or it was used. Wait for the next one.")]
    WrongCode,
    /// The secret was shown too long ago.
    #[error("This page is too old. Begin again with the new secret.")]
    Expired,
    /// The user has one already.
    #[error("This account has a second factor already. Remove it first.")]
    AlreadyOn,
    /// Too many attempts.
    #[error(transparent)]
    Login(#[from] LoginError),
}

/// Code that fits the second factor of a user and was not used before.
#[derive(Debug)]
pub(crate) enum Proof {
    /// Code of these 30 seconds.
    Step(i64),
    /// Recovery code with this digest.
    RecoveryCode([u8; 32]),
}

impl AuthorizationServer {
    /// Returns whether a user has a second factor.
    pub fn second_factor_status(&self, user: &UserId) -> Result<SecondFactorStatus, ServerError> {
        let has_password = self.find_login_user(user)?.is_some_and(|user| user.password.is_some());
        if !has_password {
            return Ok(SecondFactorStatus::NoPassword);
        }
        let found = self.read("look up a second factor", |reader| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":user", &user.as_str())];
            reader.query_first(include_str!("sql/second_factor.sql"), parameters, |row| {
                let (since, recovery_codes) = (row.get("created_at")?, row.get("recovery_codes")?);
                Ok(SecondFactorStatus::On { since, recovery_codes })
            })
        })?;
        Ok(found.unwrap_or(SecondFactorStatus::Off))
    }

    /// Generates a secret for a user. It is in use after [`Self::confirm_second_factor`].
    pub fn begin_second_factor(&self, user: &UserId) -> Result<SecondFactorSetup, ServerError> {
        let secret = TotpSecret::generate()?.ok_or(ServerError::NoKey)?;
        let expires_at = Timestamp::now().plus(SETUP_LIFETIME).unwrap_or_else(Timestamp::earliest);
        let sealed = self.seal(&format!("{SETUP} {expires_at} {user} {}", secret.to_base32()))?;
        Ok(self.describe_setup(user, &secret, sealed))
    }

    /// Returns a secret that was generated for a user, to show it again; `None` if it is too old.
    pub fn reopen_second_factor(&self, user: &UserId, sealed: &str) -> Option<SecondFactorSetup> {
        let secret = self.open_setup(user, sealed)?;
        Some(self.describe_setup(user, &secret, sealed.to_owned()))
    }

    fn describe_setup(
        &self,
        user: &UserId,
        secret: &TotpSecret,
        sealed: String,
    ) -> SecondFactorSetup {
        let address = secret.address(&self.public_url, user);
        SecondFactorSetup { secret: secret.to_base32(), address, sealed }
    }

    fn open_setup(&self, user: &UserId, sealed: &str) -> Option<TotpSecret> {
        let opened = self.server_key.as_ref()?.open_sealed(sealed)?;
        let (expires_at, rest) = opened.strip_prefix(SETUP)?.trim_start().split_once(' ')?;
        let (owner, secret) = rest.split_once(' ')?;
        let is_valid = owner == user.as_str()
            && Timestamp::parse(expires_at).is_ok_and(|end| end > Timestamp::now());
        TotpSecret::of_base32(secret).filter(|_| is_valid)
    }

    /// Puts a secret into use, if the user knows the password and an authenticator shows the code of
    /// the secret. Returns the recovery codes, which cannot be retrieved again. Ends the logins of the
    /// user in other browsers, which needed no code.
    pub fn confirm_second_factor(
        &self,
        session: &LoginSession,
        sealed: &str,
        password: &SecretString,
        code: &str,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<Vec<String>, SecondFactorError>, ServerError> {
        let Some(secret) = self.open_setup(&session.user, sealed) else {
            return Ok(Err(SecondFactorError::Expired));
        };
        let attempt = match self.begin_attempt(session.user.as_str(), origin)? {
            Ok(attempt) => attempt,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        let Some(is_password_right) = self.verify_password(&attempt, password) else {
            return Ok(Err(LoginError::Busy.into()));
        };
        let step = secret.find_step(&without_spaces(code), Timestamp::now());
        let Some(step) = step.filter(|_| is_password_right) else {
            self.refuse(&attempt, LoginError::Wrong);
            return Ok(Err(SecondFactorError::Wrong));
        };
        self.forgive(&attempt);
        let user = session.user.as_str();
        let stored = self.seal(&format!("{FACTOR} {user} {}", secret.to_base32()))?;
        let (codes, now) = (generate_codes()?, Timestamp::now());
        let added = self.write("add a second factor", |writer| {
            let factor: &[(&str, &dyn ToSql)] =
                &[(":user", &user), (":secret", &stored), (":step", &step), (":now", &now)];
            if writer.execute(ADD_FACTOR_SQL, factor)? == 0 {
                return Ok(false);
            }
            let others: &[(&str, &dyn ToSql)] = &[(":user", &user), (":digest", &session.digest())];
            writer.execute(DELETE_OTHER_SESSIONS_SQL, others)?;
            replace_recovery_codes(writer, user, &codes)?;
            Ok(true)
        })?;
        Ok(if added { Ok(expose(&codes)) } else { Err(SecondFactorError::AlreadyOn) })
    }

    /// Replaces the recovery codes of a user who proves the second factor, and returns the new ones.
    pub fn renew_recovery_codes(
        &self,
        session: &LoginSession,
        code: &str,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<Vec<String>, SecondFactorError>, ServerError> {
        if let Err(refusal) = self.prove(session, code, origin)? {
            return Ok(Err(refusal));
        }
        let codes = generate_codes()?;
        self.write("replace recovery codes", |writer| {
            replace_recovery_codes(writer, session.user.as_str(), &codes)
        })?;
        Ok(Ok(expose(&codes)))
    }

    /// Removes the second factor of a user who proves it.
    pub fn remove_second_factor(
        &self,
        session: &LoginSession,
        code: &str,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<(), SecondFactorError>, ServerError> {
        if let Err(refusal) = self.prove(session, code, origin)? {
            return Ok(Err(refusal));
        }
        self.write("remove a second factor", |writer| delete_factor(writer, &session.user))?;
        Ok(Ok(()))
    }

    /// Removes the second factor and the passkeys of a user who has lost them, and ends the user's
    /// logins in browsers. Returns false if there are none. Fails with [`AccountError::UnknownUser`]
    /// if there is no such user.
    pub fn reset_second_factor(&self, user: &UserId) -> Result<bool, ServerError> {
        if self.find_login_user(user)?.is_none() {
            return Err(AccountError::UnknownUser(user.clone()).into());
        }
        self.write("reset a second factor", |writer| {
            let passkeys = writer.execute(DELETE_PASSKEYS_SQL, &[(":user", &user.as_str())])?;
            let is_removed = delete_factor(writer, user)? || passkeys > 0;
            if is_removed {
                writer.execute(DELETE_SESSIONS_SQL, &[(":user", &user.as_str())])?;
            }
            Ok(is_removed)
        })
    }

    /// Fails unless a code proves the second factor of a user who is logged in. The code is then used
    /// up.
    fn prove(
        &self,
        session: &LoginSession,
        code: &str,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<(), SecondFactorError>, ServerError> {
        let attempt = match self.begin_attempt(session.user.as_str(), origin)? {
            Ok(attempt) => attempt,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        let is_right = match self.match_code(&session.user, code)? {
            Some(proof) => self.use_up(&session.user, &proof)?,
            None => false,
        };
        if !is_right {
            self.refuse(&attempt, LoginError::Wrong);
            return Ok(Err(SecondFactorError::WrongCode));
        }
        self.forgive(&attempt);
        Ok(Ok(()))
    }

    /// Compares a code with the authenticator and the recovery codes of a user.
    pub(crate) fn match_code(
        &self,
        user: &UserId,
        typed: &str,
    ) -> Result<Option<Proof>, ServerError> {
        let factor = self.read("look up a second factor", |reader| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":user", &user.as_str())];
            reader.query_first(FACTOR_SQL, parameters, |row| {
                Ok((row.get::<_, String>("secret")?, row.get::<_, i64>("last_step")?))
            })
        })?;
        let Some((stored, last_step)) = factor else { return Ok(None) };
        let secret = self.open_factor(user, &stored);
        if secret.is_none() {
            tracing::error!(
                "a second factor cannot be decrypted: it was stored with another server.key"
            );
        }
        let typed_code = without_spaces(typed);
        let step = secret.and_then(|secret| secret.find_step(&typed_code, Timestamp::now()));
        if let Some(step) = step.filter(|step| *step > last_step) {
            return Ok(Some(Proof::Step(step)));
        }
        let Some(code) = Secret::of_code(typed) else { return Ok(None) };
        let digest = code.digest();
        let found = self.read("look up a recovery code", |reader| {
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":digest", &digest), (":user", &user.as_str())];
            reader.query_first(RECOVERY_CODE_SQL, parameters, |row| row.get::<_, i64>("found"))
        })?;
        Ok(found.map(|_| Proof::RecoveryCode(digest)))
    }

    /// Uses a code up. Returns false if it was used meanwhile, here or at another server.
    pub(crate) fn use_up(&self, user: &UserId, proof: &Proof) -> Result<bool, ServerError> {
        let user = user.as_str();
        let changed = self.write("use a code", |writer| match proof {
            Proof::Step(step) => writer.execute(USE_STEP_SQL, &[(":user", &user), (":step", step)]),
            Proof::RecoveryCode(digest) => {
                writer.execute(USE_RECOVERY_CODE_SQL, &[(":user", &user), (":digest", digest)])
            }
        })?;
        Ok(changed > 0)
    }

    fn open_factor(&self, user: &UserId, stored: &str) -> Option<TotpSecret> {
        let opened = self.server_key.as_ref()?.open_sealed(stored)?;
        let (owner, secret) = opened.strip_prefix(FACTOR)?.trim_start().split_once(' ')?;
        TotpSecret::of_base32(secret).filter(|_| owner == user.as_str())
    }

    pub(crate) fn seal(&self, text: &str) -> Result<String, ServerError> {
        self.server_key.as_ref().and_then(|key| key.seal(text)).ok_or(ServerError::NoKey)
    }
}

fn without_spaces(typed: &str) -> String {
    typed.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn generate_codes() -> Result<Vec<Secret>, getrandom::Error> {
    (0..RECOVERY_CODES).map(|_| Secret::generate_code()).collect()
}

fn expose(codes: &[Secret]) -> Vec<String> {
    codes.iter().map(|code| code.expose().to_owned()).collect()
}

fn replace_recovery_codes(
    writer: &Writer<'_>,
    user: &str,
    codes: &[Secret],
) -> Result<(), StoreError> {
    writer.execute(DELETE_RECOVERY_CODES_SQL, &[(":user", &user)])?;
    codes.iter().try_for_each(|code| {
        let added: &[(&str, &dyn ToSql)] = &[(":digest", &code.digest()), (":user", &user)];
        writer.execute(ADD_RECOVERY_CODE_SQL, added).map(drop)
    })
}

/// Returns false if the user has no second factor.
fn delete_factor(writer: &Writer<'_>, user: &UserId) -> Result<bool, StoreError> {
    let named: &[(&str, &dyn ToSql)] = &[(":user", &user.as_str())];
    writer.execute(DELETE_RECOVERY_CODES_SQL, named)?;
    Ok(writer.execute(DELETE_FACTOR_SQL, named)? > 0)
}
