//! Signatures of tokens, checked by `ring`: it is there for TLS anyway, and
//! `jsonwebtoken` leaves the choice to us.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{ErrorKind, new_error},
};
use ring::{hmac, signature as rs};
use signature::Verifier;

/// Checks only: this server makes no tokens.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    verifier_factory: |algorithm, key| Ok(Box::new(Check::new(*algorithm, key)?)),
    // Only needed to turn keys into JWKs, which nobody does here.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has tokens checked here from now on.
pub(super) fn install() {
    // Only the first call has an effect, and only this one is ever made.
    if PROVIDER.install_default().is_err() {
        tracing::trace!("signatures are checked here already");
    }
}

/// One key, and how signatures are checked with it.
struct Check {
    algorithm: Algorithm,
    key: Key,
}

enum Key {
    Secret(hmac::Key),
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Public(rs::UnparsedPublicKey<Vec<u8>>),
}

impl Check {
    /// A key is for one family of algorithms: the public half of an RSA key can
    /// never be taken for the secret of HS256.
    fn new(algorithm: Algorithm, key: &DecodingKey) -> jsonwebtoken::errors::Result<Self> {
        let unfit = || new_error(ErrorKind::InvalidAlgorithm);
        let public = |how: &'static dyn rs::VerificationAlgorithm, bytes: &[u8]| {
            Key::Public(rs::UnparsedPublicKey::new(how, bytes.to_vec()))
        };
        let key = match (algorithm, key.family(), key.kind()) {
            (Algorithm::HS256, AlgorithmFamily::Hmac, DecodingKeyKind::SecretOrDer(secret)) => {
                Key::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret))
            }
            (Algorithm::RS256, AlgorithmFamily::Rsa, DecodingKeyKind::SecretOrDer(der)) => {
                public(&rs::RSA_PKCS1_2048_8192_SHA256, der)
            }
            (
                Algorithm::RS256,
                AlgorithmFamily::Rsa,
                DecodingKeyKind::RsaModulusExponent { n, e },
            ) => Key::Rsa { n: without_zeros(n), e: without_zeros(e) },
            (Algorithm::ES256, AlgorithmFamily::Ec, DecodingKeyKind::SecretOrDer(point)) => {
                public(&rs::ECDSA_P256_SHA256_FIXED, point)
            }
            (Algorithm::EdDSA, AlgorithmFamily::Ed, DecodingKeyKind::SecretOrDer(point)) => {
                public(&rs::ED25519, point)
            }
            _ => return Err(unfit()),
        };
        Ok(Self { algorithm, key })
    }
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match &self.key {
            Key::Secret(key) => hmac::verify(key, message, signature),
            Key::Rsa { n, e } => rs::RsaPublicKeyComponents { n, e }.verify(
                &rs::RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Key::Public(key) => key.verify(message, signature),
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// A number as `ring` wants it; some providers write zeros before it.
fn without_zeros(number: &[u8]) -> Vec<u8> {
    number.iter().copied().skip_while(|byte| *byte == 0).collect()
}
