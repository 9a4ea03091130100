//! Verification of tokens (JWT) of an identity provider: signature, validity period, issuer and
//! audience.

use jsonwebtoken::{Algorithm, TokenData, Validation, decode, decode_header, errors::ErrorKind};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{
    AccessTag, AuthError, AuthRejection, Principal, Rights,
    key_set::{VerificationKeys, jwt_algorithm},
    signature,
};
use crate::config::{Jwt, ResourceUrl};

/// Verifies tokens according to the settings.
#[derive(Debug)]
pub(super) struct TokenVerifier {
    keys: VerificationKeys,
    algorithms: Vec<Algorithm>,
    validation: Validation,
    user_claim: String,
    tags_claim: String,
}

type Claims = Map<String, Value>;

impl TokenVerifier {
    /// Creates a verifier from the settings and loads its keys.
    pub(super) fn open(settings: &Jwt, resource: Option<&ResourceUrl>) -> Result<Self, AuthError> {
        signature::install_provider();
        let audiences = match (settings.audiences.as_slice(), resource) {
            ([], None) => return Err(AuthError::NoAudience),
            ([], Some(resource)) => vec![resource.as_str().to_owned()],
            (audiences, _) => audiences.to_vec(),
        };
        let mut validation = Validation::default();
        validation.set_audience(&audiences);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        validation.leeway = settings.leeway_seconds.into();
        Ok(Self {
            keys: VerificationKeys::open(settings)?,
            algorithms: settings.algorithms.iter().map(|it| jwt_algorithm(*it)).collect(),
            validation,
            user_claim: settings.user_claim.clone(),
            tags_claim: settings.tags_claim.clone(),
        })
    }

    /// Returns the principal that the token names, if its signature, validity period, issuer and
    /// audience are valid.
    pub(super) async fn verify(&self, token: &SecretString) -> Result<Principal, AuthRejection> {
        let token = token.expose_secret();
        let header = decode_header(token).map_err(|error| rejection_of(error.kind()))?;
        // `crit` lists extensions that must be understood; none is supported.
        if !self.algorithms.contains(&header.alg) || header.crit.is_some() {
            return Err(AuthRejection::Invalid);
        }
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        let keys = self.keys.candidates(header.alg, header.kid.as_deref()).await?;
        let mut last = AuthRejection::Invalid;
        for key in keys {
            match decode::<Claims>(token, &key, &validation) {
                Ok(TokenData { claims, header: _ }) => return self.principal_from_claims(&claims),
                Err(error) if *error.kind() == ErrorKind::InvalidSignature => {}
                Err(error) => last = rejection_of(error.kind()),
            }
        }
        Err(last)
    }

    fn principal_from_claims(&self, claims: &Claims) -> Result<Principal, AuthRejection> {
        let user =
            claims.get(&self.user_claim).and_then(Value::as_str).ok_or(AuthRejection::NoUser)?;
        let user = user.parse().map_err(|_| AuthRejection::NoUser)?;
        let scopes =
            claim_words(claims.get("scope")).into_iter().chain(claim_words(claims.get("scp")));
        // Values that are not valid tags grant nothing, so they are dropped.
        let tags = claim_words(claims.get(&self.tags_claim)).into_iter();
        let tags = tags.filter(|tag| tag.parse::<AccessTag>().is_ok()).take(AccessTag::MAX_TAGS);
        Ok(Principal::new(user, Rights::from_scopes(scopes), AccessTag::parse_set(tags)?))
    }
}

/// Returns the words of a claim, which is an array of strings or one string with spaces.
fn claim_words(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn rejection_of(kind: &ErrorKind) -> AuthRejection {
    match kind {
        ErrorKind::ExpiredSignature => AuthRejection::Expired,
        ErrorKind::ImmatureSignature => AuthRejection::NotYetValid,
        ErrorKind::InvalidAudience => AuthRejection::WrongAudience,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => AuthRejection::WrongAudience,
        // Non-exhaustive enum of the library: unknown errors reject the token.
        _ => AuthRejection::Invalid,
    }
}
