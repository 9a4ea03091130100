//! What a client keeps for us between two tries of one request.
//!
//! It passes through hands that are not ours: it is sealed, so that nobody can
//! change it, show it as somebody else's, use it for another request or too late.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;
use uuid::Uuid;

use super::Failure;
use vademecum_core::auth::Principal;

/// How long a client may take to come back, in seconds.
const LASTS: u64 = 3_600;

/// The seal of this process.
#[derive(Clone)]
pub(crate) struct Seal(Hmac<Sha256>);

/// Which request a state belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) method: &'a str,
    /// What it is about: a tool, a prompt, a resource.
    pub(crate) name: &'a str,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    state: Value,
    until: u64,
}

impl Seal {
    /// A new seal, with 488 random bits.
    pub(crate) fn new() -> Self {
        let mut key = [0; 64];
        for part in key.chunks_exact_mut(16) {
            part.copy_from_slice(Uuid::new_v4().as_bytes());
        }
        Self(Hmac::new(&key.into()))
    }

    /// Seals a state for one purpose.
    pub(crate) fn seal(&self, state: Value, purpose: Purpose<'_>) -> String {
        let sealed = Sealed { state, until: now().saturating_add(LASTS) };
        let text = super::jsonrpc::json(&sealed);
        let mac = self.mac(&text, purpose).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(text), URL_SAFE_NO_PAD.encode(mac))
    }

    /// Opens a state that was sealed for this purpose.
    pub(crate) fn open(&self, sealed: &str, purpose: Purpose<'_>) -> Result<Value, Failure> {
        let broken = || {
            Failure::parameters(
                "params.requestState is not what was handed out for this request, or is older \
                 than an hour: send the request again without it",
            )
        };
        let (text, mac) = sealed.split_once('.').ok_or_else(broken)?;
        let text = URL_SAFE_NO_PAD.decode(text).map_err(|_| broken())?;
        let text = String::from_utf8(text).map_err(|_| broken())?;
        let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| broken())?;
        self.mac(&text, purpose).verify_slice(&mac).map_err(|_| broken())?;
        let sealed: Sealed = serde_json::from_str(&text).map_err(|_| broken())?;
        if sealed.until < now() { Err(broken()) } else { Ok(sealed.state) }
    }

    fn mac(&self, text: &str, purpose: Purpose<'_>) -> Hmac<Sha256> {
        let Purpose { principal, method, name } = purpose;
        let mut mac = self.0.clone();
        for part in [principal.user().as_str(), method, name, text] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use vademecum_core::auth::desktop;

    #[test]
    fn a_state_opens_for_its_own_request_only() {
        let (ada, eve) = (desktop("ada".parse().unwrap()), desktop("eve".parse().unwrap()));
        let purpose = Purpose { principal: &ada, method: "tools/call", name: "ask" };
        let seal = Seal::new();
        let sealed = seal.seal(json!({ "round": 2 }), purpose);
        assert_eq!(seal.open(&sealed, purpose).unwrap(), json!({ "round": 2 }));
        let others = [
            Purpose { principal: &eve, ..purpose },
            Purpose { name: "other", ..purpose },
            Purpose { method: "prompts/get", ..purpose },
        ];
        for other in others {
            seal.open(&sealed, other).unwrap_err();
        }
        Seal::new().open(&sealed, purpose).unwrap_err();
    }

    #[test]
    fn a_state_that_was_changed_does_not_open() {
        let ada = desktop("ada".parse().unwrap());
        let purpose = Purpose { principal: &ada, method: "tools/call", name: "ask" };
        let seal = Seal::new();
        let sealed = seal.seal(json!("state"), purpose);
        for place in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(seal.open(&changed, purpose).is_err(), "{place}");
        }
        seal.open("", purpose).unwrap_err();
    }
}
