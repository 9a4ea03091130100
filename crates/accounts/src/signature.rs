//! Verification of token signatures with `ring`, which is a dependency of TLS anyway;
//! `jsonwebtoken` lets the application choose the provider.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{ErrorKind, new_error},
};
use ring::{hmac, signature as rs};
use signature::Verifier;

/// Crypto provider that only verifies: this server issues no tokens.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    verifier_factory: |algorithm, key| Ok(Box::new(SignatureVerifier::new(*algorithm, key)?)),
    // Only needed to convert keys into JWKs, which this server never does.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs the provider for the whole process.
pub(super) fn install_provider() {
    // Only the first call has an effect; no other provider is ever installed.
    if PROVIDER.install_default().is_err() {
        tracing::trace!("the signature provider is already installed");
    }
}

/// Verifier for one key and one algorithm.
struct SignatureVerifier {
    algorithm: Algorithm,
    key: SignatureKey,
}

enum SignatureKey {
    Hmac(hmac::Key),
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Public(rs::UnparsedPublicKey<Vec<u8>>),
}

impl SignatureVerifier {
    /// Creates a verifier. A key fits one family of algorithms only, so an RSA public key is never
    /// used as an HS256 secret.
    fn new(algorithm: Algorithm, key: &DecodingKey) -> jsonwebtoken::errors::Result<Self> {
        let unfit = || new_error(ErrorKind::InvalidAlgorithm);
        let public = |how: &'static dyn rs::VerificationAlgorithm, bytes: &[u8]| {
            SignatureKey::Public(rs::UnparsedPublicKey::new(how, bytes.to_vec()))
        };
        let key = match (algorithm, key.family(), key.kind()) {
            (Algorithm::HS256, AlgorithmFamily::Hmac, DecodingKeyKind::SecretOrDer(secret)) => {
                SignatureKey::Hmac(hmac::Key::new(hmac::HMAC_SHA256, secret))
            }
            (Algorithm::RS256, AlgorithmFamily::Rsa, DecodingKeyKind::SecretOrDer(der)) => {
                public(&rs::RSA_PKCS1_2048_8192_SHA256, der)
            }
            (
                Algorithm::RS256,
                AlgorithmFamily::Rsa,
                DecodingKeyKind::RsaModulusExponent { n, e },
            ) => SignatureKey::Rsa { n: strip_leading_zeros(n), e: strip_leading_zeros(e) },
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

impl Verifier<Vec<u8>> for SignatureVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match &self.key {
            SignatureKey::Hmac(key) => hmac::verify(key, message, signature),
            SignatureKey::Rsa { n, e } => rs::RsaPublicKeyComponents { n, e }.verify(
                &rs::RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            SignatureKey::Public(key) => key.verify(message, signature),
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for SignatureVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// Strips leading zeros, which `ring` rejects and some providers send.
fn strip_leading_zeros(number: &[u8]) -> Vec<u8> {
    number.iter().copied().skip_while(|byte| *byte == 0).collect()
}
