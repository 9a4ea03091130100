//! The keys that tokens are checked with: one in a file, or a set of them in a
//! file or on the net.

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

use super::{AuthError, Refusal};
use crate::config::{Jwt, JwtAlgorithm, KeySource};

/// Keys that are fetched are fetched again after so long.
const FRESH: Duration = Duration::from_hours(1);
/// How long a fetch may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest key set that is read, in bytes.
const LONGEST: u64 = 1 << 20;
/// The shortest secret for HS256, in bytes: as long as what it makes.
const SECRET: usize = 32;

/// The keys that tokens are checked with.
#[derive(Debug)]
pub(super) enum Keys {
    /// They do not change while the server runs.
    Known(Arc<KeySet>),
    /// They are fetched.
    Fetched(RemoteKeys),
}

/// Keys, each for one algorithm.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<SetKey>);

#[derive(Debug)]
struct SetKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

/// Keys that are fetched, and what came back last.
#[derive(Debug)]
pub(super) struct RemoteKeys {
    url: String,
    agent: ureq::Agent,
    pause: Duration,
    last: RwLock<Fetched>,
    /// Held while somebody fetches: the others wait for what that brings.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Fetched {
    keys: Option<Arc<KeySet>>,
    arrived: Option<Instant>,
    tried: Option<Instant>,
}

impl Keys {
    /// Reads the keys that the settings name. Nothing is fetched yet.
    pub(super) fn open(settings: &Jwt) -> Result<Self, AuthError> {
        match &settings.keys {
            KeySource::File(path) => {
                let unread = |source| AuthError::ReadKeys { path: path.clone(), source };
                let text = Zeroizing::new(std::fs::read(path).map_err(unread)?);
                let keys = settings.algorithms.iter().map(|algorithm| {
                    let (trimmed, name) = (text.trim_ascii_end(), algorithm.as_str());
                    let key = match algorithm {
                        JwtAlgorithm::HS256 if trimmed.len() < SECRET => {
                            return Err(AuthError::ShortSecret { path: path.clone() });
                        }
                        JwtAlgorithm::HS256 => Ok(DecodingKey::from_secret(trimmed)),
                        JwtAlgorithm::RS256 => DecodingKey::from_rsa_pem(trimmed),
                        JwtAlgorithm::ES256 => DecodingKey::from_ec_pem(trimmed),
                        JwtAlgorithm::EdDSA => DecodingKey::from_ed_pem(trimmed),
                    };
                    let key = key.map_err(|source| AuthError::NoKey {
                        path: path.clone(),
                        algorithm: name,
                        source,
                    })?;
                    Ok(SetKey { id: None, algorithm: known(*algorithm), key })
                });
                Ok(Self::Known(Arc::new(KeySet(keys.collect::<Result<_, AuthError>>()?))))
            }
            KeySource::SetFile(path) => {
                let unread = |source| AuthError::ReadKeys { path: path.clone(), source };
                let set = KeySet::parse(&std::fs::read(path).map_err(unread)?)
                    .map_err(|source| AuthError::NoKeySet { path: path.clone(), source })?;
                Ok(Self::Known(Arc::new(set)))
            }
            KeySource::SetUrl { url, pause } => Ok(Self::Fetched(RemoteKeys::new(url, *pause))),
        }
    }

    /// The keys that may have signed a token: those for its algorithm and, if
    /// it names its key, of that name.
    pub(super) async fn candidates(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<DecodingKey>, Refusal> {
        match self {
            // A key alone in a file has no name, whatever the token calls it.
            Self::Known(set) if set.0.iter().all(|key| key.id.is_none()) => {
                Ok(set.candidates(algorithm, None))
            }
            Self::Known(set) => Ok(set.candidates(algorithm, id)),
            Self::Fetched(remote) => remote.candidates(algorithm, id).await,
        }
    }
}

/// The algorithm by the name that the reader of tokens has for it.
pub(super) fn known(algorithm: JwtAlgorithm) -> Algorithm {
    match algorithm {
        JwtAlgorithm::HS256 => Algorithm::HS256,
        JwtAlgorithm::RS256 => Algorithm::RS256,
        JwtAlgorithm::ES256 => Algorithm::ES256,
        JwtAlgorithm::EdDSA => Algorithm::EdDSA,
    }
}

impl KeySet {
    /// Keys that are tried at most for a token that does not name its key.
    const TRIES: usize = 8;

    /// Reads a key set. A key of another kind is passed over.
    fn parse(text: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<serde_json::Value>,
        }
        let set: Set = serde_json::from_slice(text)?;
        Ok(Self(set.keys.into_iter().filter_map(SetKey::read).collect()))
    }

    fn candidates(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<DecodingKey> {
        let fits =
            |key: &&SetKey| key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id);
        self.0.iter().filter(fits).take(Self::TRIES).map(|key| key.key.clone()).collect()
    }
}

impl SetKey {
    /// Reads a public key for signatures; what kind of key it is decides for
    /// which algorithm.
    fn read(value: serde_json::Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let (algorithm, named) = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                (Algorithm::ES256, KeyAlgorithm::ES256)
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
            }
            // A secret is none that anybody may read; the library may come to
            // know more kinds.
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
            .timeout_global(Some(PATIENCE))
            // Whoever could redirect could also lead somewhere else.
            .max_redirects(0)
            .max_redirects_will_error(true);
        if url.starts_with("http://") {
            // This machine needs no proxy.
            config = config.proxy(None);
        }
        Self {
            url: url.to_owned(),
            agent: config.build().into(),
            pause,
            last: RwLock::default(),
            fetching: tokio::sync::Mutex::default(),
        }
    }

    async fn candidates(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Vec<DecodingKey>, Refusal> {
        if let Some(found) = self.fresh(algorithm, id) {
            return Ok(found);
        }
        let guard = self.fetching.lock().await;
        // Somebody may have fetched meanwhile.
        if let Some(found) = self.fresh(algorithm, id) {
            return Ok(found);
        }
        if self.last().tried.is_none_or(|tried| tried.elapsed() >= self.pause) {
            self.fetch().await;
        }
        drop(guard);
        let keys = self.last().keys.ok_or(Refusal::Unavailable)?;
        Ok(keys.candidates(algorithm, id))
    }

    fn last(&self) -> Fetched {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fresh(&self, algorithm: Algorithm, id: Option<&str>) -> Option<Vec<DecodingKey>> {
        let last = self.last();
        let is_fresh = last.arrived.is_some_and(|arrived| arrived.elapsed() < FRESH);
        let found = last.keys.filter(|_| is_fresh)?.candidates(algorithm, id);
        (!found.is_empty()).then_some(found)
    }

    /// Fetches the keys; if that fails, those that there are stay.
    async fn fetch(&self) {
        let (agent, url) = (self.agent.clone(), self.url.clone());
        let fetched = tokio::task::spawn_blocking(move || -> Result<KeySet, FetchError> {
            let mut response = agent.get(&url).call()?;
            let text = response.body_mut().with_config().limit(LONGEST).read_to_vec()?;
            Ok(KeySet::parse(&text)?)
        });
        let fetched = fetched.await.unwrap_or(Err(FetchError::BrokenOff));
        let now = Instant::now();
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        last.tried = Some(now);
        match fetched {
            Ok(keys) => {
                last.keys = Some(Arc::new(keys));
                last.arrived = Some(now);
            }
            Err(error) => tracing::warn!(%error, "the keys of auth.jwt.jwks_url did not come"),
        }
    }
}

/// Why keys did not come.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Http(#[from] ureq::Error),
    #[error("what came is no JSON Web Key Set: {0}")]
    NoKeySet(#[from] serde_json::Error),
    #[error("the fetch was broken off")]
    BrokenOff,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_set_is_read_without_what_is_of_no_use_in_it() {
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
