//! Answers of browsers about passkeys (`WebAuthn` level 3, sections 5.8.1 and 6.1): what was signed, for
//! which server, and by whom.

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::passkey_key::PasskeyKey;

/// Length of the hash of the server's name, the flags and the counter, in bytes.
const HEAD: usize = 37;
/// Length of the identifier of the model of an authenticator, in bytes.
const MODEL: usize = 16;
/// Maximum length of the id of a passkey, in bytes (`WebAuthn` level 3, section 5.8.3).
const MAX_ID: usize = 1_023;
/// Flag: a person touched the authenticator.
const IS_PRESENT: u8 = 0x01;
/// Flag: the authenticator knows the person, by a fingerprint or a number.
const IS_VERIFIED: u8 = 0x04;
/// Flag: the data contain a new passkey.
const HAS_KEY: u8 = 0x40;

/// Ceremony of `WebAuthn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ceremony {
    /// Registration of a passkey.
    Create,
    /// Login with a passkey.
    Get,
}

/// Statement of the browser.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    ceremony: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    is_cross_origin: bool,
}

/// Returns true if a statement is about this ceremony, challenge and origin, and was made on a page of
/// the origin that no other page contains.
pub(crate) fn is_valid_client_data(
    json: &[u8],
    ceremony: Ceremony,
    challenge: &str,
    origin: &str,
) -> bool {
    let expected = match ceremony {
        Ceremony::Create => "webauthn.create",
        Ceremony::Get => "webauthn.get",
    };
    serde_json::from_slice::<ClientData>(json).is_ok_and(|stated| {
        stated.ceremony == expected
            && stated.challenge == challenge
            && stated.origin == origin
            && !stated.is_cross_origin
    })
}

/// Statement of the authenticator, for this server and with a verified person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AuthenticatorData<'a> {
    /// Number of signatures so far; 0 if the authenticator does not count them.
    pub(crate) sign_count: u32,
    flags: u8,
    rest: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    /// Reads a statement. `None` if it is for another server, or if the authenticator did not verify
    /// the person.
    pub(crate) fn read(bytes: &'a [u8], server: &str) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (hash, head) = head.split_first_chunk::<32>()?;
        let (flags, count) = head.split_first()?;
        let is_ours = hash[..] == Sha256::digest(server)[..];
        let needed = IS_PRESENT | IS_VERIFIED;
        let sign_count = u32::from_be_bytes(count.try_into().ok()?);
        (is_ours && flags & needed == needed).then_some(Self { sign_count, flags: *flags, rest })
    }

    /// Returns the id and the public key of a new passkey.
    pub(crate) fn new_passkey(&self) -> Option<(&'a [u8], PasskeyKey)> {
        let rest = self.rest.get(MODEL..).filter(|_| self.flags & HAS_KEY != 0)?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (id, key) = rest.split_at_checked(length).filter(|_| length <= MAX_ID)?;
        Some((id, PasskeyKey::read(key)?)).filter(|_| !id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_for_another_page_is_refused() {
        let is_valid = |json: &str| {
            let origin = "https://knowledge.example";
            is_valid_client_data(json.as_bytes(), Ceremony::Get, "abc", origin)
        };
        let stated = |kind: &str, challenge: &str, origin: &str, more: &str| {
            format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{origin}"{more}}}"#)
        };
        let own = "https://knowledge.example";
        assert!(is_valid(&stated("webauthn.get", "abc", own, "")));
        assert!(is_valid(&stated("webauthn.get", "abc", own, r#","crossOrigin":false"#)));
        for wrong in [
            stated("webauthn.create", "abc", own, ""),
            stated("webauthn.get", "abd", own, ""),
            stated("webauthn.get", "abc", "https://knowledge.example.evil.example", ""),
            stated("webauthn.get", "abc", "http://knowledge.example", ""),
            stated("webauthn.get", "abc", own, r#","crossOrigin":true"#),
            stated("webauthn.get", "abc", own, r#","origin":"https://evil.example""#),
            String::new(),
        ] {
            assert!(!is_valid(&wrong), "{wrong}");
        }
    }

    #[test]
    fn damaged_statement_is_refused() {
        let key = PasskeyKey::Es256([&[4][..], &[7; 64]].concat());
        let head = [&Sha256::digest("a.example")[..], &[IS_PRESENT | IS_VERIFIED | HAS_KEY]];
        let data = [&head.concat()[..], &[0, 0, 0, 5], &[0; MODEL], &[0, 2, 8, 9], &key.to_bytes()];
        let data = data.concat();
        let read = AuthenticatorData::read(&data, "a.example").unwrap();
        assert_eq!((read.sign_count, read.new_passkey()), (5, Some((&[8, 9][..], key))));
        for length in 0..data.len() {
            let cut = AuthenticatorData::read(&data[..length], "a.example");
            assert_eq!(cut.and_then(|it| it.new_passkey()), None, "{length}");
        }
        assert_eq!(AuthenticatorData::read(&data, "b.example"), None);
        for flags in [0, IS_PRESENT | HAS_KEY, IS_VERIFIED | HAS_KEY] {
            let mut unverified = data.clone();
            unverified[32] = flags;
            assert_eq!(AuthenticatorData::read(&unverified, "a.example"), None, "{flags}");
        }
    }
}
