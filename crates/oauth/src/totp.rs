//! Codes of authenticators (TOTP, RFC 6238): six digits that change every 30 seconds.

use totp_rs::{Builder, Secret, Totp};
use url::form_urlencoded;
use vademecum_core::{auth::UserId, config::PublicUrl};
use vademecum_model::Timestamp;

/// Number of digits of a code.
const DIGITS: usize = 6;
/// Length of a secret, in bytes, as RFC 4226 recommends.
const SECRET_LENGTH: usize = 20;

/// Secret that an authenticator and this server share.
#[derive(Debug)]
pub(crate) struct TotpSecret(Totp);

impl TotpSecret {
    /// Generates a secret.
    pub(crate) fn generate() -> Result<Option<Self>, getrandom::Error> {
        let mut bytes = [0; SECRET_LENGTH];
        getrandom::fill(&mut bytes)?;
        Ok(Self::of_bytes(bytes.into()))
    }

    /// Reads a secret as people type it into an authenticator.
    pub(crate) fn of_base32(text: &str) -> Option<Self> {
        Self::of_bytes(Secret::try_from_base32(text).ok()?)
    }

    fn of_bytes(secret: Secret) -> Option<Self> {
        Builder::new().with_secret(secret).build().ok().map(Self)
    }

    /// Returns the secret as people type it into an authenticator.
    pub(crate) fn to_base32(&self) -> String {
        self.0.secret().to_base32()
    }

    /// Returns the address that authenticators read from a picture. It names the server and the user.
    pub(crate) fn address(&self, server: &PublicUrl, user: &UserId) -> String {
        // The address of a host in version 6 of IP has colons and brackets.
        let host = server.host().replace(':', "%3A").replace('[', "%5B").replace(']', "%5D");
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("secret", &self.to_base32())
            .append_pair("issuer", &server.host())
            .finish();
        format!("otpauth://totp/{host}:{user}?{query}")
    }

    /// Returns the number of the 30 seconds to which a code belongs: the present ones, or those before
    /// or after.
    pub(crate) fn find_step(&self, code: &str, now: Timestamp) -> Option<i64> {
        if !is_code(code) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the time is far from the limits"
        )]
        let seconds = (now.as_unix_milliseconds() / 1_000.0) as u64;
        self.0.check(code, seconds).and_then(|step| step.try_into().ok())
    }
}

/// Returns true for a text that may be the code of an authenticator.
fn is_code(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Secret of the examples in RFC 6238, appendix B.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_unix_seconds(seconds).unwrap()
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        let secret = TotpSecret::of_base32(SECRET).unwrap();
        for (seconds, code) in
            [(59.0, "287082"), (1_111_111_109.0, "081804"), (2_000_000_000.0, "279037")]
        {
            #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
            let step = (seconds / 30.0) as i64;
            assert_eq!(secret.find_step(code, at(seconds)), Some(step), "{code}");
            assert_eq!(secret.find_step(code, at(seconds + 30.0)), Some(step), "{code}");
            assert_eq!(secret.find_step(code, at(seconds + 60.0)), None, "{code}");
        }
        for wrong in ["", "28708", "2870820", "287083", "28708a", "２８７０８２", "+28708"] {
            assert_eq!(secret.find_step(wrong, at(59.0)), None, "{wrong}");
        }
    }

    #[test]
    fn address_names_server_and_user() {
        let secret = TotpSecret::of_base32(SECRET).unwrap();
        let (server, user) = ("http://localhost:8080".parse().unwrap(), "ada".parse().unwrap());
        assert_eq!(
            secret.address(&server, &user),
            format!("otpauth://totp/localhost:ada?secret={SECRET}&issuer=localhost")
        );
        let other = TotpSecret::generate().unwrap().unwrap();
        assert_eq!(other.to_base32().len(), 32);
        assert_ne!(other.to_base32(), TotpSecret::generate().unwrap().unwrap().to_base32());
    }
}
