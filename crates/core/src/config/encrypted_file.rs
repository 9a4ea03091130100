//! Files with one secret, encrypted with a passphrase.
//!
//! The file is one line: a prefix with the format version, then salt, nonce and AES-256-GCM
//! ciphertext in base64. The key is derived from the passphrase with PBKDF2-HMAC-SHA256.

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

/// Prefix of an encrypted file, with the format version.
const FILE_PREFIX: &str = "vademecum-sealed:1:";
const SALT_BYTES: usize = 16;
/// Iterations that OWASP recommends for PBKDF2-HMAC-SHA256.
const PBKDF2_ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(599_999);

/// The reason why a secret could not be encrypted or decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncryptedFileError {
    /// The file has another format or is incomplete.
    #[error("not a file that `vademecum profile encrypt` created")]
    NotEncrypted,
    /// The passphrase is wrong, or the file was changed.
    #[error("wrong passphrase, or the file was changed")]
    WrongPassphrase,
    /// The system's random number generator failed.
    #[error("the system returned no random numbers")]
    NoRandomness,
}

/// Encrypts a secret. Returns the content of the file.
pub fn encrypt_secret(
    secret: &SecretString,
    passphrase: &SecretString,
) -> Result<String, EncryptedFileError> {
    let mut head = [0; SALT_BYTES + NONCE_LEN];
    getrandom::fill(&mut head).map_err(|_| EncryptedFileError::NoRandomness)?;
    let (salt, nonce) = head.split_at(SALT_BYTES);
    let nonce =
        Nonce::try_assume_unique_for_key(nonce).map_err(|_| EncryptedFileError::NotEncrypted)?;
    let mut body = secret.expose_secret().as_bytes().to_vec();
    derive_key(passphrase, salt)?
        .seal_in_place_append_tag(nonce, Aad::from(FILE_PREFIX), &mut body)
        .map_err(|_| EncryptedFileError::NotEncrypted)?;
    Ok(format!("{FILE_PREFIX}{}\n", STANDARD_NO_PAD.encode([&head[..], &body].concat())))
}

/// Decrypts the content of a file.
pub(super) fn decrypt_secret(
    text: &str,
    passphrase: &SecretString,
) -> Result<SecretString, EncryptedFileError> {
    let sealed = text.trim().strip_prefix(FILE_PREFIX).ok_or(EncryptedFileError::NotEncrypted)?;
    let mut sealed =
        STANDARD_NO_PAD.decode(sealed).map_err(|_| EncryptedFileError::NotEncrypted)?;
    let (salt, rest) =
        sealed.split_at_mut_checked(SALT_BYTES).ok_or(EncryptedFileError::NotEncrypted)?;
    let (nonce, body) =
        rest.split_at_mut_checked(NONCE_LEN).ok_or(EncryptedFileError::NotEncrypted)?;
    let nonce =
        Nonce::try_assume_unique_for_key(nonce).map_err(|_| EncryptedFileError::NotEncrypted)?;
    let key = derive_key(passphrase, salt)?;
    let opened = key
        .open_in_place(nonce, Aad::from(FILE_PREFIX), body)
        .map_err(|_| EncryptedFileError::WrongPassphrase)?;
    let secret = std::str::from_utf8(opened).map(SecretString::from);
    let secret = secret.map_err(|_| EncryptedFileError::NotEncrypted);
    sealed.zeroize();
    secret
}

fn derive_key(passphrase: &SecretString, salt: &[u8]) -> Result<LessSafeKey, EncryptedFileError> {
    let mut key = Zeroizing::new([0; 32]);
    let passphrase = passphrase.expose_secret().as_bytes();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, PBKDF2_ITERATIONS, salt, passphrase, &mut *key);
    let key = UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| EncryptedFileError::NotEncrypted)?;
    Ok(LessSafeKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decryption_requires_passphrase_and_unchanged_file() {
        let sealed = encrypt_secret(&"s3cret".into(), &"open sesame".into()).unwrap();
        assert!(!sealed.contains("s3cret"));
        let opened = decrypt_secret(&sealed, &"open sesame".into()).unwrap();
        assert_eq!(opened.expose_secret(), "s3cret");
        let wrong = decrypt_secret(&sealed, &"open barley".into());
        assert_eq!(wrong.unwrap_err(), EncryptedFileError::WrongPassphrase);
        for text in
            ["", "s3cret", FILE_PREFIX, "vademecum-sealed:1:AAAA", &sealed.replace(":1:", ":2:")]
        {
            let error = decrypt_secret(text, &"open sesame".into()).unwrap_err();
            assert_eq!(error, EncryptedFileError::NotEncrypted, "{text}");
        }
    }
}
