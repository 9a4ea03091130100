//! Files of one secret that only a passphrase opens.
//!
//! One line: what it is, which version, and in base64 the salt, the nonce and
//! the secret under AES-256-GCM. The key is made of the passphrase by
//! PBKDF2-HMAC-SHA256, slowly, so that guessing is slow.

use std::num::NonZeroU32;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    pbkdf2,
};
use secrecy::{
    ExposeSecret as _, SecretString,
    zeroize::{Zeroize as _, Zeroizing},
};

/// What such a file begins with.
const MARK: &str = "vademecum-sealed:1:";
const SALT: usize = 16;
/// As often as OWASP wants it for this function.
const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(599_999);

/// Why a file does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It is another kind of file, or not whole.
    #[error("it is not a file that `vademecum profile encrypt` has made")]
    NotSealed,
    /// It has another passphrase, or was changed.
    #[error("the passphrase does not open it")]
    WrongPassphrase,
    /// This machine has no random numbers to give.
    #[error("this machine gave no random numbers")]
    NoRandomness,
}

/// Seals a secret.
pub fn seal(secret: &SecretString, passphrase: &SecretString) -> Result<String, SealError> {
    let mut head = [0; SALT + NONCE_LEN];
    getrandom::fill(&mut head).map_err(|_| SealError::NoRandomness)?;
    let (salt, nonce) = head.split_at(SALT);
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::NotSealed)?;
    let mut body = secret.expose_secret().as_bytes().to_vec();
    key(passphrase, salt)?
        .seal_in_place_append_tag(nonce, Aad::from(MARK), &mut body)
        .map_err(|_| SealError::NotSealed)?;
    Ok(format!("{MARK}{}\n", STANDARD_NO_PAD.encode([&head[..], &body].concat())))
}

/// Opens what was sealed.
pub(super) fn open(text: &str, passphrase: &SecretString) -> Result<SecretString, SealError> {
    let sealed = text.trim().strip_prefix(MARK).ok_or(SealError::NotSealed)?;
    let mut sealed = STANDARD_NO_PAD.decode(sealed).map_err(|_| SealError::NotSealed)?;
    let (salt, rest) = sealed.split_at_mut_checked(SALT).ok_or(SealError::NotSealed)?;
    let (nonce, body) = rest.split_at_mut_checked(NONCE_LEN).ok_or(SealError::NotSealed)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::NotSealed)?;
    let key = key(passphrase, salt)?;
    let opened =
        key.open_in_place(nonce, Aad::from(MARK), body).map_err(|_| SealError::WrongPassphrase)?;
    let secret = std::str::from_utf8(opened).map(SecretString::from);
    let secret = secret.map_err(|_| SealError::NotSealed);
    sealed.zeroize();
    secret
}

fn key(passphrase: &SecretString, salt: &[u8]) -> Result<LessSafeKey, SealError> {
    let mut key = Zeroizing::new([0; 32]);
    let passphrase = passphrase.expose_secret().as_bytes();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, salt, passphrase, &mut *key);
    let key = UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| SealError::NotSealed)?;
    Ok(LessSafeKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_passphrase_opens_what_was_sealed_and_only_as_it_was() {
        let sealed = seal(&"s3cret".into(), &"open sesame".into()).unwrap();
        assert!(!sealed.contains("s3cret"));
        let opened = open(&sealed, &"open sesame".into()).unwrap();
        assert_eq!(opened.expose_secret(), "s3cret");
        let wrong = open(&sealed, &"open barley".into());
        assert_eq!(wrong.unwrap_err(), SealError::WrongPassphrase);
        for text in ["", "s3cret", MARK, "vademecum-sealed:1:AAAA", &sealed.replace(":1:", ":2:")] {
            let error = open(text, &"open sesame".into()).unwrap_err();
            assert_eq!(error, SealError::NotSealed, "{text}");
        }
    }
}
