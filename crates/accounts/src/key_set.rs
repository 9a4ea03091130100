//! Keys that verify token signatures: a single key in a file, or a JSON Web Key Set from a file or
//! a URL.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use secrecy::zeroize::Zeroizing;
use serde::Deserialize;
use vademecum_core::config::{Jwt, JwtAlgorithm, KeySource};

use super::{AuthError, AuthRejection};

/// Time for which a key set is still used while it cannot be fetched again, from the moment when it
/// should have been. An outage of the identity provider does not reject tokens before that; a key
/// that was removed meanwhile stays valid for as long.
const MAX_STALE_TIME: Duration = Duration::from_hours(1);
/// Maximum time of one request for a key set.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a fetched key set, in bytes.
const MAX_KEY_SET_BYTES: u64 = 1 << 20;
/// Minimum length of an HS256 secret, in bytes: the output length of SHA-256.
const MIN_SECRET_BYTES: usize = 32;

/// Keys that verify token signatures.
#[derive(Debug)]
pub(super) enum VerificationKeys {
    /// Loaded once at start.
    Static(Arc<KeySet>),
    /// Fetched from a URL.
    Remote(RemoteKeys),
}

/// Set of keys, each bound to one algorithm.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<VerificationKey>);

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

/// Key set fetched from a URL and its cache.
#[derive(Debug)]
pub(super) struct RemoteKeys {
    url: String,
    agent: ureq::Agent,
    /// Age at which the key set is fetched again, and minimum time between two fetches.
    fetch_interval: Duration,
    last: RwLock<FetchCache>,
    /// Held during a fetch, so that concurrent requests share its result.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct FetchCache {
    keys: Option<Arc<KeySet>>,
    fetched_at: Option<Instant>,
    attempted_at: Option<Instant>,
}

impl VerificationKeys {
    /// Loads the keys named in the settings. A remote key set is not fetched yet.
    pub(super) fn open(settings: &Jwt) -> Result<Self, AuthError> {
        match &settings.keys {
            KeySource::File(path) => {
                let unread = |source| AuthError::ReadKeys { path: path.clone(), source };
                let text = Zeroizing::new(std::fs::read(path).map_err(unread)?);
                let keys = settings.algorithms.iter().map(|algorithm| {
                    let (trimmed, name) = (text.trim_ascii_end(), algorithm.as_str());
                    let key = match algorithm {
                        JwtAlgorithm::HS256 if trimmed.len() < MIN_SECRET_BYTES => {
                            return Err(AuthError::ShortSecret { path: path.clone() });
                        }
                        JwtAlgorithm::HS256 => Ok(DecodingKey::from_secret(trimmed)),
                        JwtAlgorithm::RS256 => DecodingKey::from_rsa_pem(trimmed),
                        JwtAlgorithm::ES256 => DecodingKey::from_ec_pem(trimmed),
                        JwtAlgorithm::EdDSA => DecodingKey::from_ed_pem(trimmed),
                    };
                    let key = key.map_err(|source| AuthError::InvalidKey {
                        path: path.clone(),
                        algorithm: name,
                        source,
                    })?;
                    Ok(VerificationKey { id: None, algorithm: jwt_algorithm(*algorithm), key })
                });
                Ok(Self::Static(Arc::new(KeySet(keys.collect::<Result<_, AuthError>>()?))))
            }
            KeySource::SetFile(path) => {
                let unread = |source| AuthError::ReadKeys { path: path.clone(), source };
                let set = KeySet::parse(&std::fs::read(path).map_err(unread)?)
                    .map_err(|source| AuthError::InvalidKeySet { path: path.clone(), source })?;
                Ok(Self::Static(Arc::new(set)))
            }
            KeySource::SetUrl { url, pause } => Ok(Self::open_url(url, *pause)),
        }
    }

    /// Returns the keys that are fetched from a URL.
    pub(super) fn open_url(url: &str, pause: Duration) -> Self {
        Self::Remote(RemoteKeys::new(url, pause))
    }

    /// Returns the keys that may have signed a token: same algorithm and, if the token names a key,
    /// same key id.
    pub(super) async fn candidates(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<DecodingKey>, AuthRejection> {
        match self {
            // Keys from a single-key file have no id, so the token's key id is ignored.
            Self::Static(set) if set.0.iter().all(|key| key.id.is_none()) => {
                Ok(set.candidates(algorithm, None))
            }
            Self::Static(set) => Ok(set.candidates(algorithm, id)),
            Self::Remote(remote) => remote.candidates(algorithm, id).await,
        }
    }
}

/// Maps the configured algorithm to the one of `jsonwebtoken`.
pub(super) fn jwt_algorithm(algorithm: JwtAlgorithm) -> Algorithm {
    match algorithm {
        JwtAlgorithm::HS256 => Algorithm::HS256,
        JwtAlgorithm::RS256 => Algorithm::RS256,
        JwtAlgorithm::ES256 => Algorithm::ES256,
        JwtAlgorithm::EdDSA => Algorithm::EdDSA,
    }
}

impl KeySet {
    /// Maximum number of keys to try for a token without a key id.
    const MAX_CANDIDATES: usize = 8;

    /// Parses a key set. Unsupported keys are skipped.
    fn parse(text: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<serde_json::Value>,
        }
        let set: Set = serde_json::from_slice(text)?;
        Ok(Self(set.keys.into_iter().filter_map(VerificationKey::from_jwk).collect()))
    }

    fn candidates(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<DecodingKey> {
        let fits = |key: &&VerificationKey| {
            key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id)
        };
        self.0.iter().filter(fits).take(Self::MAX_CANDIDATES).map(|key| key.key.clone()).collect()
    }
}

impl VerificationKey {
    /// Parses a public signature key. The key type determines the algorithm. Returns `None` if it
    /// is unsupported.
    fn from_jwk(value: serde_json::Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let (algorithm, named) = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                (Algorithm::ES256, KeyAlgorithm::ES256)
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
            }
            // A shared secret must not be in a public key set; the enum may also gain variants.
            _ => return None,
        };
        let signs =
            !matches!(&jwk.common.public_key_use, Some(used) if *used != PublicKeyUse::Signature);
        let fits = jwk.common.key_algorithm.is_none_or(|it| it == named);
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        (signs && fits).then_some(Self { id: jwk.common.key_id, algorithm, key })
    }
}

impl RemoteKeys {
    fn new(url: &str, pause: Duration) -> Self {
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(FETCH_TIMEOUT))
            // A redirect could point to an untrusted host.
            .max_redirects(0)
            .max_redirects_will_error(true);
        if url.starts_with("http://") {
            // Plain HTTP is only used for loopback addresses, where a proxy is of no use.
            config = config.proxy(None);
        }
        Self {
            url: url.to_owned(),
            agent: config.build().into(),
            fetch_interval: pause,
            last: RwLock::default(),
            fetching: tokio::sync::Mutex::default(),
        }
    }

    async fn candidates(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<DecodingKey>, AuthRejection> {
        if let Some(found) = self.cached_candidates(algorithm, id) {
            return Ok(found);
        }
        let guard = self.fetching.lock().await;
        // Another task may have fetched the keys while this one waited for the lock.
        if let Some(found) = self.cached_candidates(algorithm, id) {
            return Ok(found);
        }
        if self.last().attempted_at.is_none_or(|tried| tried.elapsed() >= self.fetch_interval) {
            self.fetch().await;
        }
        drop(guard);
        let keys = self.keys_younger_than(self.fetch_interval.saturating_add(MAX_STALE_TIME));
        Ok(keys.ok_or(AuthRejection::Unavailable)?.candidates(algorithm, id))
    }

    fn keys_younger_than(&self, age: Duration) -> Option<Arc<KeySet>> {
        let last = self.last();
        last.keys.filter(|_| last.fetched_at.is_some_and(|arrived| arrived.elapsed() < age))
    }

    fn last(&self) -> FetchCache {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cached_candidates(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Option<Vec<DecodingKey>> {
        let found = self.keys_younger_than(self.fetch_interval)?.candidates(algorithm, id);
        (!found.is_empty()).then_some(found)
    }

    /// Fetches the key set. Keeps the previous one on failure.
    async fn fetch(&self) {
        let (agent, url) = (self.agent.clone(), self.url.clone());
        let fetched = tokio::task::spawn_blocking(move || -> Result<KeySet, FetchError> {
            let mut response = agent.get(&url).call()?;
            let text = response.body_mut().with_config().limit(MAX_KEY_SET_BYTES).read_to_vec()?;
            Ok(KeySet::parse(&text)?)
        });
        let fetched = fetched.await.unwrap_or(Err(FetchError::Aborted));
        let now = Instant::now();
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        last.attempted_at = Some(now);
        match fetched {
            Ok(keys) => {
                last.keys = Some(Arc::new(keys));
                last.fetched_at = Some(now);
            }
            Err(error) => tracing::warn!(%error, "cannot fetch the keys of an identity provider"),
        }
    }
}

/// Error of a key set fetch.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Http(#[from] ureq::Error),
    #[error("the response is not a JSON Web Key Set: {0}")]
    InvalidKeySet(#[from] serde_json::Error),
    #[error("the fetch was aborted")]
    Aborted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_set_skips_unusable_keys() {
        let ed = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let text = serde_json::json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": ed },
            { "kty": "OKP", "crv": "Ed25519", "kid": "two", "use": "enc", "x": ed },
            { "kty": "OKP", "crv": "Ed25519", "kid": "three", "alg": "RS256", "x": ed },
            { "kty": "oct", "kid": "four", "k": "c2VjcmV0" },
            { "kty": "new", "kid": "five" },
            7,
        ] });
        let set = KeySet::parse(text.to_string().as_bytes()).unwrap();
        let ids: Vec<_> = set.0.iter().map(|key| key.id.as_deref()).collect();
        assert_eq!(ids, [Some("one")]);
        assert_eq!(set.candidates(Algorithm::EdDSA, Some("one")).len(), 1);
        assert_eq!(set.candidates(Algorithm::EdDSA, None).len(), 1);
        assert!(set.candidates(Algorithm::EdDSA, Some("two")).is_empty());
        assert!(set.candidates(Algorithm::HS256, None).is_empty());
        assert!(KeySet::parse(b"[]").is_err());
    }
}
