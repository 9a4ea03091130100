//! Signed request state that a client keeps between two attempts of one request.
//!
//! The client could change the state, so it carries an HMAC over principal, method, name and
//! expiry: it is valid only for the same request of the same user, and for one hour.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;
use uuid::Uuid;

use crate::Failure;
use vademecum_core::auth::Principal;

/// Time for which a client can return a state, in seconds.
const STATE_LIFETIME_SECS: u64 = 3_600;

/// HMAC-SHA-256 key of this process. States do not survive a restart.
#[derive(Clone)]
pub(crate) struct StateSigner(Hmac<Sha256>);

/// Request that a state belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateBinding<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) method: &'a str,
    /// Name of the tool or prompt, or URI of the resource.
    pub(crate) name: &'a str,
}

#[derive(Serialize, Deserialize)]
struct SignedState {
    state: Value,
    until: u64,
}

impl StateSigner {
    /// Creates a key with 488 random bits.
    pub(crate) fn new() -> Self {
        let mut key = [0; 64];
        for part in key.chunks_exact_mut(16) {
            part.copy_from_slice(Uuid::new_v4().as_bytes());
        }
        Self(Hmac::new(&key.into()))
    }

    /// Signs a state for one request and returns it as `base64.base64` (payload and MAC).
    pub(crate) fn sign(&self, state: Value, purpose: StateBinding<'_>) -> String {
        let sealed =
            SignedState { state, until: unix_seconds().saturating_add(STATE_LIFETIME_SECS) };
        let text = crate::message::jsonrpc::to_json(&sealed);
        let mac = self.compute_mac(&text, purpose).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(text), URL_SAFE_NO_PAD.encode(mac))
    }

    /// Verifies a signed state and returns it. Fails if it was changed, belongs to another request
    /// or has expired.
    pub(crate) fn verify(&self, sealed: &str, purpose: StateBinding<'_>) -> Result<Value, Failure> {
        let broken = || {
            Failure::invalid_params(
                "params.requestState was not issued for this request, or is older \
                 than an hour: send the request again without it",
            )
        };
        let (text, mac) = sealed.split_once('.').ok_or_else(broken)?;
        let text = URL_SAFE_NO_PAD.decode(text).map_err(|_| broken())?;
        let text = String::from_utf8(text).map_err(|_| broken())?;
        let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| broken())?;
        self.compute_mac(&text, purpose).verify_slice(&mac).map_err(|_| broken())?;
        let sealed: SignedState = serde_json::from_str(&text).map_err(|_| broken())?;
        if sealed.until < unix_seconds() { Err(broken()) } else { Ok(sealed.state) }
    }

    fn compute_mac(&self, text: &str, purpose: StateBinding<'_>) -> Hmac<Sha256> {
        let StateBinding { principal, method, name } = purpose;
        let mut mac = self.0.clone();
        for part in [principal.user().as_str(), method, name, text] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use vademecum_core::auth::local_principal;

    #[test]
    fn state_verifies_for_its_own_request_only() {
        let (ada, eve) =
            (local_principal("ada".parse().unwrap()), local_principal("eve".parse().unwrap()));
        let purpose = StateBinding { principal: &ada, method: "tools/call", name: "ask" };
        let seal = StateSigner::new();
        let sealed = seal.sign(json!({ "round": 2 }), purpose);
        assert_eq!(seal.verify(&sealed, purpose).unwrap(), json!({ "round": 2 }));
        let others = [
            StateBinding { principal: &eve, ..purpose },
            StateBinding { name: "other", ..purpose },
            StateBinding { method: "prompts/get", ..purpose },
        ];
        for other in others {
            seal.verify(&sealed, other).unwrap_err();
        }
        StateSigner::new().verify(&sealed, purpose).unwrap_err();
    }

    #[test]
    fn changed_state_fails_verification() {
        let ada = local_principal("ada".parse().unwrap());
        let purpose = StateBinding { principal: &ada, method: "tools/call", name: "ask" };
        let seal = StateSigner::new();
        let sealed = seal.sign(json!("state"), purpose);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(seal.verify(&changed, purpose).is_err(), "{index}");
        }
        seal.verify("", purpose).unwrap_err();
    }
}
