//! Tokens of an identity provider (JWT): whether one is genuine and meant for
//! this server, and whom it names.

use jsonwebtoken::{Algorithm, TokenData, Validation, decode, decode_header, errors::ErrorKind};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{
    AccessTag, AuthError, Principal, Refusal, Rights,
    key_set::{Keys, known},
    signature,
};
use crate::config::{Jwt, ResourceUrl};

/// What tokens must be like.
#[derive(Debug)]
pub(super) struct TokenVerifier {
    keys: Keys,
    algorithms: Vec<Algorithm>,
    validation: Validation,
    user_claim: String,
    tags_claim: String,
}

type Claims = Map<String, Value>;

impl TokenVerifier {
    /// Reads the keys that the settings name.
    pub(super) fn open(settings: &Jwt, resource: Option<&ResourceUrl>) -> Result<Self, AuthError> {
        signature::install();
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
            keys: Keys::open(settings)?,
            algorithms: settings.algorithms.iter().map(|it| known(*it)).collect(),
            validation,
            user_claim: settings.user_claim.clone(),
            tags_claim: settings.tags_claim.clone(),
        })
    }

    /// Whom a token names, if it is genuine, in force and meant for this server.
    pub(super) async fn verify(&self, token: &SecretString) -> Result<Principal, Refusal> {
        let token = token.expose_secret();
        let header = decode_header(token).map_err(|error| refusal(error.kind()))?;
        // `crit` lists what must be understood; there is nothing of that here.
        if !self.algorithms.contains(&header.alg) || header.crit.is_some() {
            return Err(Refusal::Invalid);
        }
        let mut validation = self.validation.clone();
        validation.algorithms = vec![header.alg];
        let keys = self.keys.candidates(header.alg, header.kid.as_deref()).await?;
        let mut last = Refusal::Invalid;
        for key in keys {
            match decode::<Claims>(token, &key, &validation) {
                Ok(TokenData { claims, header: _ }) => return self.principal(&claims),
                Err(error) if *error.kind() == ErrorKind::InvalidSignature => {}
                Err(error) => last = refusal(error.kind()),
            }
        }
        Err(last)
    }

    fn principal(&self, claims: &Claims) -> Result<Principal, Refusal> {
        let user = claims.get(&self.user_claim).and_then(Value::as_str).ok_or(Refusal::Nobody)?;
        let user = user.parse().map_err(|_| Refusal::Nobody)?;
        let scopes = words(claims.get("scope")).into_iter().chain(words(claims.get("scp")));
        // What cannot be a tag opens nothing, so it may as well not be there.
        let tags = words(claims.get(&self.tags_claim)).into_iter();
        let tags = tags.filter(|tag| tag.parse::<AccessTag>().is_ok()).take(AccessTag::MOST);
        Ok(Principal::new(user, Rights::of_scopes(scopes), AccessTag::set(tags)?))
    }
}

/// The words of a claim, which is a list of texts or a text with spaces.
fn words(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn refusal(kind: &ErrorKind) -> Refusal {
    match kind {
        ErrorKind::ExpiredSignature => Refusal::Expired,
        ErrorKind::ImmatureSignature => Refusal::Early,
        ErrorKind::InvalidAudience => Refusal::Audience,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => Refusal::Audience,
        // The library may come to know more; none of it lets anybody in.
        _ => Refusal::Invalid,
    }
}
