//! Public keys of passkeys, as authenticators encode them (COSE, RFC 9052), and their signatures.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

/// Beginning of an ES256 key: type EC2, algorithm -7, curve P-256, and the head of x.
const ES256_HEAD: &[u8] = &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
/// Head of y in such a key.
const ES256_MIDDLE: &[u8] = &[0x22, 0x58, 0x20];
/// Beginning of an `EdDSA` key: type OKP, algorithm -8, curve Ed25519, and the head of x.
const ED25519_HEAD: &[u8] = &[0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
/// Beginning of an RS256 key: type RSA, algorithm -257, and the head of a modulus of 2,048 bits.
const RS256_HEAD: &[u8] = &[0xa4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59, 0x01, 0x00];
/// End of such a key: the exponent 65537.
const RS256_END: &[u8] = &[0x21, 0x43, 0x01, 0x00, 0x01];
/// Length of the coordinates of an elliptic curve, in bytes.
const COORDINATE: usize = 32;
/// Length of a modulus of 2,048 bits, in bytes.
const MODULUS: usize = 256;

/// Algorithms that are offered, best first, by their numbers in COSE.
pub(crate) const ALGORITHMS: [i32; 3] = [-7, -8, -257];

/// Public key of a passkey. CTAP 2 prescribes one encoding for each key, so each is compared with a
/// pattern instead of being parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PasskeyKey {
    /// Point on the curve P-256, uncompressed.
    Es256(Vec<u8>),
    /// Ed25519.
    EdDsa(Vec<u8>),
    /// Modulus of RSA with 2,048 bits.
    Rs256(Vec<u8>),
}

impl PasskeyKey {
    /// Reads the key at the beginning of `bytes`. `None` for any other encoding.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if let Some(rest) = bytes.strip_prefix(ES256_HEAD) {
            let (x, rest) = rest.split_at_checked(COORDINATE)?;
            let y = rest.strip_prefix(ES256_MIDDLE)?.get(..COORDINATE)?;
            return Some(Self::Es256([&[4], x, y].concat()));
        }
        if let Some(rest) = bytes.strip_prefix(ED25519_HEAD) {
            return Some(Self::EdDsa(rest.get(..COORDINATE)?.to_vec()));
        }
        let (modulus, rest) = bytes.strip_prefix(RS256_HEAD)?.split_at_checked(MODULUS)?;
        rest.starts_with(RS256_END).then(|| Self::Rs256(modulus.to_vec()))
    }

    /// Returns the encoding in which the key is stored.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Es256(point) => {
                let coordinates = point.get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at_checked(COORDINATE).unwrap_or_default();
                [ES256_HEAD, x, ES256_MIDDLE, y].concat()
            }
            Self::EdDsa(x) => [ED25519_HEAD, x].concat(),
            Self::Rs256(modulus) => [RS256_HEAD, modulus, RS256_END].concat(),
        }
    }

    /// Returns true if `signature` is that of the owner of this key over `message`.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Es256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            Self::EdDsa(x) => UnparsedPublicKey::new(&ED25519, x).verify(message, signature),
            Self::Rs256(modulus) => {
                let exponent: &[u8] = &[1, 0, 1];
                let key = RsaPublicKeyComponents { n: modulus.as_slice(), e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
    };

    use super::*;

    #[test]
    fn key_verifies_its_own_signatures_only() {
        let random = SystemRandom::new();
        let signing = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let pair = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(signing, pair.as_ref(), &random).unwrap();
        let key = PasskeyKey::Es256(pair.public_key().as_ref().to_vec());
        assert_eq!(PasskeyKey::read(&key.to_bytes()), Some(key.clone()));
        let signature = pair.sign(&random, b"message").unwrap();
        assert!(key.verifies(b"message", signature.as_ref()));
        assert!(!key.verifies(b"massage", signature.as_ref()));
        let pair = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
        let other = PasskeyKey::EdDsa(pair.public_key().as_ref().to_vec());
        assert_eq!(PasskeyKey::read(&other.to_bytes()), Some(other.clone()));
        assert!(other.verifies(b"message", pair.sign(b"message").as_ref()));
        assert!(!other.verifies(b"message", signature.as_ref()));
        assert!(!key.verifies(b"message", pair.sign(b"message").as_ref()));
    }

    #[test]
    fn other_encodings_are_refused() {
        let es256 = PasskeyKey::Es256([&[4][..], &[7; 64]].concat()).to_bytes();
        for length in 0..es256.len() {
            assert_eq!(PasskeyKey::read(&es256[..length]), None, "{length}");
        }
        let rs256 = PasskeyKey::Rs256(vec![9; MODULUS]);
        assert_eq!(PasskeyKey::read(&rs256.to_bytes()), Some(rs256.clone()));
        let mut small_exponent = rs256.to_bytes();
        *small_exponent.last_mut().unwrap() = 3;
        assert_eq!(PasskeyKey::read(&small_exponent), None);
    }
}
