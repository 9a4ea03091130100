//! Passwords: slow hashes (argon2id) that take as long for a user who does not exist.

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use argon2::{
    Argon2,
    password_hash::{Error, PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::password_policy::MAX_LENGTH;

/// Maximum number of passwords that wait to be hashed.
const MAX_WAITING: usize = 32;

/// Hashes passwords, one at a time in each of two queues, so that a flood of logins takes one core and
/// 19 MiB. Browsers that have logged in before have a queue of their own, which strangers cannot
/// fill.
#[derive(Debug, Default)]
pub(crate) struct PasswordHasher {
    strangers: HashQueue,
    known: HashQueue,
    /// Hash of no password, for users who have none.
    decoy: OnceLock<String>,
}

/// Passwords that wait to be hashed, one after the other.
#[derive(Debug, Default)]
struct HashQueue {
    hashing: Mutex<()>,
    waiting: AtomicUsize,
}

/// Too many passwords wait to be hashed.
#[derive(Debug)]
pub(crate) struct Busy;

/// Returns the hash of a password, in the PHC format, with the parameters that OWASP recommends:
/// argon2id with 19 MiB, 2 passes and 1 lane.
pub(crate) fn hash_password(password: &SecretString) -> Result<String, Error> {
    Ok(Argon2::default().hash_password(password.expose_secret().as_bytes())?.to_string())
}

impl PasswordHasher {
    /// Returns true if `hash` is the hash of `password`. Without a hash the answer is false, after
    /// as much work. `is_known` tells whether the browser has logged in before.
    pub(crate) fn verify(
        &self,
        password: &SecretString,
        hash: Option<&str>,
        is_known: bool,
    ) -> Result<bool, Busy> {
        let queue = if is_known { &self.known } else { &self.strangers };
        if queue.waiting.fetch_add(1, Ordering::SeqCst) >= MAX_WAITING {
            queue.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(Busy);
        }
        let hashing = queue.hashing.lock().unwrap_or_else(PoisonError::into_inner);
        let decoy = self
            .decoy
            .get_or_init(|| hash_password(&SecretString::from("no password")).unwrap_or_default());
        let is_right = verify_hash(password, hash.unwrap_or(decoy));
        drop(hashing);
        queue.waiting.fetch_sub(1, Ordering::SeqCst);
        Ok(is_right && hash.is_some())
    }
}

fn verify_hash(password: &SecretString, hash: &str) -> bool {
    let password = password.expose_secret().as_bytes();
    password.len() <= MAX_LENGTH
        && PasswordHash::new(hash)
            .is_ok_and(|hash| Argon2::default().verify_password(password, &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_verifies_only_against_its_hash() {
        let hasher = PasswordHasher::default();
        let hash = hash_password(&"correct horse".into()).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(hasher.verify(&"correct horse".into(), Some(&hash), false).unwrap());
        assert!(!hasher.verify(&"wrong horse".into(), Some(&hash), false).unwrap());
        assert!(
            !hasher.verify(&"no password".into(), None, false).unwrap(),
            "the decoy opens nothing"
        );
        assert!(!hasher.verify(&"correct horse".into(), Some("damaged"), false).unwrap());
    }
}
