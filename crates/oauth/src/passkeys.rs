//! Passkeys: a browser logs a user in by a key of the user's device, which knows the user. So a passkey
//! takes the place of the password and of the second factor.
//!
//! A challenge is not stored until it was answered: the page carries it, encrypted and bound to its
//! browser.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rusqlite::ToSql;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use vademecum_core::auth::UserId;
use vademecum_model::Timestamp;

use super::{
    AuthorizationServer, LoginError, LoginOrigin, LoginSession, ServerError,
    client::clean_name,
    passkey_answer::{AuthenticatorData, Ceremony, is_valid_client_data},
    passkey_key::{ALGORITHMS, PasskeyKey},
    secret::{Secret, hash_texts},
};

/// Deletes a passkey of a user.
const DELETE_PASSKEY_SQL: &str = "DELETE FROM passkeys WHERE id = :id AND user = :user";
/// Deletes the challenges that have expired.
const DELETE_CHALLENGES_SQL: &str = "DELETE FROM used_challenges WHERE expires_at <= :now";
/// Reads the passkey `:id`.
const PASSKEY_SQL: &str = "SELECT user, public_key FROM passkeys WHERE id = :id";
/// Reads the passkeys of a user, oldest first.
const PASSKEYS_SQL: &str = "SELECT id, name, created_at, last_used_at \
     FROM passkeys WHERE user = :user ORDER BY created_at, id";
/// Uses up a challenge. Changes nothing if it is used up.
const USE_CHALLENGE_SQL: &str = "INSERT INTO used_challenges (digest, expires_at) \
     VALUES (:digest, :expires_at) ON CONFLICT (digest) DO NOTHING";

/// Time within which a challenge must be answered.
const CHALLENGE_LIFETIME: Duration = Duration::from_mins(5);
/// Beginning of a challenge, before it is encrypted.
const CHALLENGE: &str = "passkey-challenge";
/// Maximum number of passkeys of a user.
const MAX_PASSKEYS: i64 = 20;

/// Challenge that an authenticator signs.
#[derive(Clone, Debug)]
pub struct PasskeyChallenge {
    /// Challenge in URL-safe base64.
    pub challenge: String,
    /// Encrypted form, which the page sends back.
    pub sealed: String,
    /// Name of this server towards authenticators.
    pub server: String,
}

/// Content of the form that registers a passkey.
#[derive(Clone, Debug)]
pub struct PasskeyOffer {
    /// Challenge to sign.
    pub challenge: PasskeyChallenge,
    /// Identifier of the user towards authenticators, in URL-safe base64.
    pub handle: String,
    /// Algorithms that are accepted, by their numbers in COSE.
    pub algorithms: String,
}

/// Answer of a browser, with all binary parts in URL-safe base64.
#[derive(Clone, Copy, Debug)]
pub struct PasskeyAnswer<'a> {
    /// [Encrypted form](PasskeyChallenge::sealed) of the challenge.
    pub sealed: &'a str,
    /// Id of the passkey; empty for a new one.
    pub id: &'a str,
    /// Statement of the browser.
    pub client_data: &'a str,
    /// Statement of the authenticator.
    pub authenticator_data: &'a str,
    /// Signature; empty for a new passkey.
    pub signature: &'a str,
}

/// Passkey of a user.
#[derive(Clone, Debug)]
pub struct Passkey {
    /// Id in URL-safe base64.
    pub id: String,
    /// Name that the user chose.
    pub name: String,
    /// Time of registration.
    pub created_at: Timestamp,
    /// Time of the last login with it.
    pub last_used_at: Option<Timestamp>,
}

/// Refused registration of a passkey. The messages are for the user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// The password or the code is wrong.
    #[error("The password or the code is wrong.")]
    Wrong,
    /// The answer of the browser is not valid, or too late.
    #[error("This passkey was not accepted, or this page is too old. Try again.")]
    Invalid,
    /// The user has too many, or this one is registered already.
    #[error("This passkey is registered already, or there are too many of them.")]
    NotAdded,
    /// Too many attempts.
    #[error(transparent)]
    Login(#[from] LoginError),
}

/// Challenge that a browser has answered.
struct AnsweredChallenge {
    challenge: String,
    digest: [u8; 32],
    expires_at: Timestamp,
}

impl AuthorizationServer {
    /// Returns true if users can log in with passkeys: they have passwords, with which they register
    /// the first one, and the server has a name, without which no browser makes passkeys.
    pub fn has_passkeys(&self) -> bool {
        let host = self.public_url.host();
        let is_name = host.parse::<std::net::IpAddr>().is_err() && !host.starts_with('[');
        self.has_passwords() && is_name
    }

    /// Creates a challenge for a browser with this token for its forms.
    pub fn passkey_challenge(&self, form_token: &str) -> Result<PasskeyChallenge, ServerError> {
        let expires_at =
            Timestamp::now().plus(CHALLENGE_LIFETIME).unwrap_or_else(Timestamp::earliest);
        let nonce = Secret::generate()?;
        let text = format!("{CHALLENGE} {expires_at} {form_token} {}", nonce.expose());
        let sealed = self.seal(&text)?;
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&sealed));
        Ok(PasskeyChallenge { challenge, sealed, server: self.public_url.host() })
    }

    /// Returns the content of the form that registers a passkey.
    pub fn passkey_offer(&self, session: &LoginSession) -> Result<PasskeyOffer, ServerError> {
        Ok(PasskeyOffer {
            challenge: self.passkey_challenge(&session.csrf_token())?,
            handle: hash_texts(&["passkey-user", self.public_url.as_str(), session.user.as_str()]),
            algorithms: ALGORITHMS.map(|number| number.to_string()).join(" "),
        })
    }

    /// Returns the passkeys of a user, oldest first.
    pub fn list_passkeys(&self, user: &UserId) -> Result<Vec<Passkey>, ServerError> {
        self.read("list passkeys", |reader| {
            reader.query_all(PASSKEYS_SQL, &[(":user", &user.as_str())], |row| {
                Ok(Passkey {
                    id: BASE64_URL_SAFE_NO_PAD.encode(row.get::<_, Vec<u8>>("id")?),
                    name: row.get("name")?,
                    created_at: row.get("created_at")?,
                    last_used_at: row.get("last_used_at")?,
                })
            })
        })
    }

    /// Registers a passkey of a user who knows the password, and the code of the second factor if there
    /// is one.
    pub fn add_passkey(
        &self,
        session: &LoginSession,
        name: &str,
        password: &SecretString,
        code: &str,
        answer: &PasskeyAnswer<'_>,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<(), PasskeyError>, ServerError> {
        let attempt = match self.begin_attempt(session.user.as_str(), origin)? {
            Ok(attempt) => attempt,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        let Some(mut is_right) = self.verify_password(&attempt, password) else {
            return Ok(Err(LoginError::Busy.into()));
        };
        if is_right && attempt.found.as_ref().is_some_and(|found| found.has_second_factor) {
            is_right = match self.match_code(&session.user, code)? {
                Some(proof) => self.use_up(&session.user, &proof)?,
                None => false,
            };
        }
        if !is_right {
            self.refuse(&attempt, LoginError::Wrong);
            return Ok(Err(PasskeyError::Wrong));
        }
        self.forgive(&attempt);
        let Some((challenge, id, key, count)) = self.read_new_passkey(answer, origin) else {
            return Ok(Err(PasskeyError::Invalid));
        };
        let (name, now) = (clean_name(name), Timestamp::now());
        let name = if name.is_empty() { "Passkey".to_owned() } else { name };
        let added = self.write("add a passkey", |writer| {
            if !use_challenge(writer, &challenge)? {
                return Ok(false);
            }
            let parameters: &[(&str, &dyn ToSql)] = &[
                (":id", &id),
                (":user", &session.user.as_str()),
                (":name", &name),
                (":public_key", &key.to_bytes()),
                (":sign_count", &count),
                (":now", &now),
                (":max", &MAX_PASSKEYS),
            ];
            Ok(writer.execute(include_str!("sql/add_passkey.sql"), parameters)? > 0)
        })?;
        Ok(if added { Ok(()) } else { Err(PasskeyError::NotAdded) })
    }

    fn read_new_passkey(
        &self,
        answer: &PasskeyAnswer<'_>,
        origin: &LoginOrigin<'_>,
    ) -> Option<(AnsweredChallenge, Vec<u8>, PasskeyKey, u32)> {
        let challenge = self.open_challenge(answer.sealed, origin)?;
        let client_data = decode(answer.client_data)?;
        let ours = self.public_url.as_str();
        if !is_valid_client_data(&client_data, Ceremony::Create, &challenge.challenge, ours) {
            return None;
        }
        let data = decode(answer.authenticator_data)?;
        let data = AuthenticatorData::read(&data, &self.public_url.host())?;
        let (id, key) = data.new_passkey()?;
        Some((challenge, id.to_vec(), key, data.sign_count))
    }

    /// Removes a passkey of a user. Returns false if there is none.
    pub fn remove_passkey(&self, user: &UserId, id: &str) -> Result<bool, ServerError> {
        let Some(id) = decode(id) else { return Ok(false) };
        let removed = self.write("remove a passkey", |writer| {
            writer.execute(DELETE_PASSKEY_SQL, &[(":id", &id), (":user", &user.as_str())])
        })?;
        Ok(removed > 0)
    }

    /// Logs a user in by a passkey. A user without a password is refused, as the operator has removed
    /// it. No address must wait: signatures cannot be guessed, and a valid one is never refused for the
    /// failures of others.
    pub fn log_in_with_passkey(
        &self,
        answer: &PasskeyAnswer<'_>,
        origin: &LoginOrigin<'_>,
    ) -> Result<Result<LoginSession, LoginError>, ServerError> {
        let found = match self.verify_answer(answer, origin)? {
            Some(user) => self.find_login_user(&user)?.map(|found| (user, found)),
            None => None,
        };
        match found {
            Some((user, found)) if found.password.is_some() => self.open_session(&user, &found),
            Some(_) | None => Ok(Err(self.fail(origin.address, LoginError::WrongPasskey))),
        }
    }

    /// Returns the user whose passkey signed a challenge, which is then used up.
    fn verify_answer(
        &self,
        answer: &PasskeyAnswer<'_>,
        origin: &LoginOrigin<'_>,
    ) -> Result<Option<UserId>, ServerError> {
        let Some(challenge) = self.open_challenge(answer.sealed, origin) else { return Ok(None) };
        let decoded = [answer.id, answer.client_data, answer.authenticator_data, answer.signature];
        let [Some(id), Some(client_data), Some(data), Some(signature)] = decoded.map(decode) else {
            return Ok(None);
        };
        let ours = self.public_url.as_str();
        if !is_valid_client_data(&client_data, Ceremony::Get, &challenge.challenge, ours) {
            return Ok(None);
        }
        let Some(stated) = AuthenticatorData::read(&data, &self.public_url.host()) else {
            return Ok(None);
        };
        let found = self.read("look up a passkey", |reader| {
            let parameters: &[(&str, &dyn ToSql)] = &[(":id", &id)];
            reader.query_first(PASSKEY_SQL, parameters, |row| {
                Ok((row.get::<_, String>("user")?, row.get::<_, Vec<u8>>("public_key")?))
            })
        })?;
        let Some((user, key)) = found else { return Ok(None) };
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        if !PasskeyKey::read(&key).is_some_and(|key| key.verifies(&signed, &signature)) {
            return Ok(None);
        }
        let (count, now) = (stated.sign_count, Timestamp::now());
        let is_first = self.write("use a passkey", |writer| {
            if !use_challenge(writer, &challenge)? {
                return Ok(false);
            }
            let parameters: &[(&str, &dyn ToSql)] =
                &[(":id", &id), (":count", &count), (":now", &now)];
            Ok(writer.execute(include_str!("sql/use_passkey.sql"), parameters)? > 0)
        })?;
        Ok(user.parse().ok().filter(|_| is_first))
    }

    fn open_challenge(&self, sealed: &str, origin: &LoginOrigin<'_>) -> Option<AnsweredChallenge> {
        let opened = self.server_key.as_ref()?.open_sealed(sealed)?;
        let mut words = opened.strip_prefix(CHALLENGE)?.trim_start().split(' ');
        let expires_at = Timestamp::parse(words.next()?).ok()?;
        let is_valid = words.next()? == origin.form_token && expires_at > Timestamp::now();
        let digest: [u8; 32] = Sha256::digest(sealed).into();
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest);
        is_valid.then_some(AnsweredChallenge { challenge, digest, expires_at })
    }
}

/// Returns false if a challenge was used before, here or at another server.
fn use_challenge(
    writer: &vademecum_store::Writer<'_>,
    challenge: &AnsweredChallenge,
) -> Result<bool, vademecum_store::StoreError> {
    writer.execute(DELETE_CHALLENGES_SQL, &[(":now", &Timestamp::now())])?;
    let AnsweredChallenge { digest, expires_at, .. } = challenge;
    let used: &[(&str, &dyn ToSql)] = &[(":digest", digest), (":expires_at", expires_at)];
    Ok(writer.execute(USE_CHALLENGE_SQL, used)? > 0)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use vademecum_core::config::{Auth, AuthMode};

    use super::*;

    #[test]
    fn passkeys_need_a_server_with_a_name() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, address, expected) in [
            (AuthMode::Multi, "https://knowledge.example", true),
            (AuthMode::Multi, "http://localhost:7744", true),
            (AuthMode::Multi, "http://127.0.0.1:7744", false),
            (AuthMode::Multi, "https://[2001:db8::1]", false),
            (AuthMode::Single, "https://knowledge.example", false),
        ] {
            let (settings, address) = (Auth { mode, ..Auth::default() }, address.parse().unwrap());
            let user = "ada".parse().unwrap();
            let server = AuthorizationServer::open(&settings, &address, folder.path(), &user);
            assert_eq!(server.unwrap().has_passkeys(), expected, "{address}");
        }
    }
}
