//! Verification of tokens (JWT) of an identity provider: signature, type, validity period, issuer,
//! audience, and whether the user is admitted.

use jsonwebtoken::{Algorithm, TokenData, Validation, decode, decode_header, errors::ErrorKind};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use vademecum_core::{
    auth::{AccessTag, Principal, Rights},
    config::{Jwt, ResourceUrl},
};

use super::{
    AuthError, AuthRejection,
    key_set::{VerificationKeys, jwt_algorithm},
};
use crate::signature::install_provider;

/// Verifies tokens according to the settings.
#[derive(Debug)]
pub(super) struct TokenVerifier {
    keys: VerificationKeys,
    algorithms: Vec<Algorithm>,
    validation: Validation,
    user_claim: String,
    tags_claim: String,
    admission: Admission,
}

/// Users that are admitted. Without any name, all are.
#[derive(Debug)]
struct Admission {
    subjects: Vec<String>,
    groups: Vec<String>,
    groups_claim: String,
}

type Claims = Map<String, Value>;

impl TokenVerifier {
    /// Creates a verifier from the settings and loads its keys.
    pub(super) fn open(settings: &Jwt, resource: Option<&ResourceUrl>) -> Result<Self, AuthError> {
        install_provider();
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
            admission: Admission {
                subjects: settings.allowed_subjects.clone(),
                groups: settings.allowed_groups.clone(),
                groups_claim: settings.groups_claim.clone(),
            },
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
        let is_declared = is_access_token_type(header.typ.as_deref())?;
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        let keys = self.keys.candidates(header.alg, header.kid.as_deref()).await?;
        let mut last = AuthRejection::Invalid;
        for key in keys {
            match decode::<Claims>(token, &key, &validation) {
                Ok(TokenData { claims, header: _ }) => {
                    if !is_declared && is_other_token(&claims) {
                        return Err(AuthRejection::NotAccessToken);
                    }
                    return self.principal_from_claims(&claims);
                }
                Err(error) if *error.kind() == ErrorKind::InvalidSignature => {}
                Err(error) => last = rejection_of(error.kind()),
            }
        }
        Err(last)
    }

    fn principal_from_claims(&self, claims: &Claims) -> Result<Principal, AuthRejection> {
        let user =
            claims.get(&self.user_claim).and_then(Value::as_str).ok_or(AuthRejection::NoUser)?;
        if !self.admission.admits(user, claims) {
            return Err(AuthRejection::NotAdmitted);
        }
        let user = user.parse().map_err(|_| AuthRejection::NoUser)?;
        let scopes =
            claim_words(claims.get("scope")).into_iter().chain(claim_words(claims.get("scp")));
        // Values that are not valid tags grant nothing, so they are dropped.
        let tags = claim_words(claims.get(&self.tags_claim)).into_iter();
        let tags = tags.filter(|tag| tag.parse::<AccessTag>().is_ok()).take(AccessTag::MAX_TAGS);
        Ok(Principal::new(user, Rights::from_scopes(scopes), AccessTag::parse_set(tags)?))
    }
}

impl Admission {
    /// Returns whether the user or one of its groups is named, or no name is configured.
    fn admits(&self, user: &str, claims: &Claims) -> bool {
        let Self { subjects, groups, groups_claim } = self;
        let is_named = |names: &[String], name: &str| names.iter().any(|known| known == name);
        subjects.is_empty() && groups.is_empty()
            || is_named(subjects, user)
            || claim_words(claims.get(groups_claim)).into_iter().any(|it| is_named(groups, it))
    }
}

/// Returns whether the header says that the token is an access token (RFC 9068). Many identity
/// providers say only `JWT`, or nothing. Fails if it is of another type.
fn is_access_token_type(typ: Option<&str>) -> Result<bool, AuthRejection> {
    let typ = typ.unwrap_or("JWT").to_ascii_lowercase();
    match typ.strip_prefix("application/").unwrap_or(&typ) {
        "at+jwt" => Ok(true),
        "jwt" => Ok(false),
        _ => Err(AuthRejection::NotAccessToken),
    }
}

/// Returns whether the claims are those of an ID token or a refresh token: hashes of other tokens
/// (`OpenID` Connect Core, sections 3.1.3.6 and 3.3.2.11), or the type as some providers state it.
fn is_other_token(claims: &Claims) -> bool {
    let is_type = |claim: &str, types: &[&str]| {
        let value = claims.get(claim).and_then(Value::as_str).unwrap_or_default();
        types.iter().any(|known| known.eq_ignore_ascii_case(value))
    };
    claims.contains_key("at_hash")
        || claims.contains_key("c_hash")
        || is_type("token_use", &["id", "refresh"])
        || is_type("typ", &["ID", "Refresh", "Offline", "Logout"])
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
