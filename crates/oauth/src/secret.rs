//! Random secrets for browsers and clients, of which only hashes are stored.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// Letters of codes that people type: without those that look alike.
const CODE_LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Number of letters of such a code, 5 random bits each.
const CODE_LENGTH: usize = 16;
/// Number of letters between two hyphens.
const CODE_GROUP: usize = 4;

/// Random text that proves something to this server: a code, or the cookie of a session.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    /// Generates 256 random bits.
    pub(crate) fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Generates a code of 80 random bits that a person can type.
    pub(crate) fn generate_code() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; CODE_LENGTH];
        getrandom::fill(&mut bytes)?;
        let letters = bytes.iter().map(|byte| char::from(CODE_LETTERS[usize::from(byte % 32)]));
        let mut code = String::new();
        for (index, letter) in letters.enumerate() {
            if index > 0 && index % CODE_GROUP == 0 {
                code.push('-');
            }
            code.push(letter);
        }
        Ok(Self(code))
    }

    /// Reads a code as a person typed it: case, spaces and hyphens do not matter.
    pub(crate) fn of_code(typed: &str) -> Option<Self> {
        let letters: String = typed
            .chars()
            .filter(|letter| !letter.is_whitespace() && *letter != '-')
            .map(|letter| letter.to_ascii_uppercase())
            .collect();
        let is_code = letters.len() == CODE_LENGTH
            && letters.bytes().all(|letter| CODE_LETTERS.contains(&letter));
        let groups = letters.as_bytes().chunks(CODE_GROUP);
        let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
        is_code.then(|| Self(groups.join("-")))
    }

    /// Wraps the text that a caller presented.
    pub(crate) fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the SHA-256 hash to store. The secret is random, so neither a slow hash nor a salt is
    /// needed.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }

    /// Returns the text.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// Returns the SHA-256 hash of texts as URL-safe base64. Each text is preceded by its length, so
/// that different lists have different hashes.
pub(crate) fn hash_texts(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    }
    BASE64_URL_SAFE_NO_PAD.encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_read_as_people_type_it() {
        let code = Secret::generate_code().unwrap();
        let typed = format!(" {} ", code.expose().to_lowercase().replace('-', " "));
        assert_eq!(Secret::of_code(&typed).unwrap().digest(), code.digest());
        for wrong in ["", "ABCD", "0000-0000-0000-0000", &format!("{}A", code.expose())] {
            assert!(Secret::of_code(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn hash_separates_texts() {
        assert_ne!(hash_texts(&["ab", "c"]), hash_texts(&["a", "bc"]));
    }
}
