//! Verification of ID tokens, with which an outside `OpenID` Connect provider tells who logged in.

use std::time::Duration;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;
use vademecum_core::{auth::UserId, config::Oidc};

use super::{AuthRejection, key_set::VerificationKeys};
use crate::signature::install_provider;

/// Signature algorithms of ID tokens that are accepted. The algorithm of the token only selects
/// among them, and each key belongs to one.
const ALGORITHMS: [Algorithm; 3] = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
/// Tolerated clock difference, in seconds.
const LEEWAY_SECONDS: u64 = 30;
/// Minimum time between two fetches of the keys of the provider.
const KEYS_PAUSE: Duration = Duration::from_mins(1);

/// Verifies the ID tokens of one provider for one client.
#[derive(Debug)]
pub struct IdTokenVerifier {
    keys: VerificationKeys,
    validation: Validation,
    client_id: String,
}

/// Claims of a verified ID token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginClaims(Map<String, Value>);

impl IdTokenVerifier {
    /// Creates a verifier for the provider of the settings, whose keys are fetched from `jwks_uri`
    /// on first use.
    pub fn new(settings: &Oidc, jwks_uri: &str) -> Self {
        install_provider();
        let mut validation = Validation::default();
        validation.set_audience(&[&settings.client_id]);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        let keys = VerificationKeys::open_url(jwks_uri, KEYS_PAUSE);
        Self { keys, validation, client_id: settings.client_id.clone() }
    }

    /// Returns the claims of an ID token if its signature, validity period, issuer and audience are
    /// valid, and it answers the request with this nonce.
    pub async fn verify(&self, token: &str, nonce: &str) -> Result<LoginClaims, AuthRejection> {
        let header = decode_header(token).map_err(|_| AuthRejection::Invalid)?;
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return Err(AuthRejection::Invalid);
        }
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        for key in self.keys.candidates(header.alg, header.kid.as_deref()).await? {
            if let Ok(token) = decode::<Map<String, Value>>(token, &key, &validation) {
                return self.check_claims(token.claims, nonce);
            }
        }
        Err(AuthRejection::Invalid)
    }

    fn check_claims(
        &self,
        claims: Map<String, Value>,
        nonce: &str,
    ) -> Result<LoginClaims, AuthRejection> {
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str);
        let answers = text("nonce").unwrap_or_default().as_bytes().ct_eq(nonce.as_bytes());
        // With several audiences, the token must have been made for this client (Core, 3.1.3.7).
        let is_ours = match (text("azp"), claims.get("aud")) {
            (Some(party), _) => party == self.client_id,
            (None, Some(Value::Array(audiences))) => audiences.len() == 1,
            (None, _) => true,
        };
        if bool::from(answers) && is_ours {
            Ok(LoginClaims(claims))
        } else {
            Err(AuthRejection::Invalid)
        }
    }
}

impl LoginClaims {
    /// Returns the user whom the claims name, if the settings admit the user. An address of e-mail
    /// counts only if the provider has verified it.
    pub fn user(&self, settings: &Oidc) -> Result<UserId, AuthRejection> {
        let name = self.0.get(&settings.user_claim).and_then(Value::as_str);
        let name = name.ok_or(AuthRejection::NoUser)?;
        if settings.user_claim == "email"
            && self.0.get("email_verified") != Some(&Value::Bool(true))
        {
            return Err(AuthRejection::NoUser);
        }
        let is_member = || {
            let groups = self.0.get(&settings.groups_claim).and_then(Value::as_array);
            let mut groups = groups.into_iter().flatten().filter_map(Value::as_str);
            groups.any(|group| settings.allowed_groups.iter().any(|known| known == group))
        };
        let has_no_list =
            settings.allowed_subjects.is_empty() && settings.allowed_groups.is_empty();
        let is_named = settings.allowed_subjects.iter().any(|known| known == name);
        if !has_no_list && !is_named && !is_member() {
            return Err(AuthRejection::NotAdmitted);
        }
        name.parse().map_err(|_| AuthRejection::NoUser)
    }
}
