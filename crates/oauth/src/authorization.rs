//! What a client asks for: the parameters of the authorization endpoint.

use std::collections::BTreeMap;

use vademecum_core::auth::{Right, Rights};

use super::{
    AuthorizationServer, Client, OAuthError, RedirectUri, ServerError, client::is_document_url,
    parameters::parse_parameters,
};

/// Maximum length of the query, in bytes.
const MAX_QUERY_LENGTH: usize = 6_000;
/// Lengths of a code challenge of S256: 256 bits in unpadded URL-safe base64.
const CHALLENGE_LENGTH: usize = 43;

/// Parameters of a request, each at most once. Nothing is checked yet.
#[derive(Clone, Debug)]
pub struct AuthorizationQuery {
    raw: String,
    parameters: BTreeMap<String, String>,
}

/// Checked request of a client.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    /// Client that asks.
    pub client: Client,
    /// Address to which the answer is sent; the client registered it.
    pub redirect_uri: RedirectUri,
    /// Rights that the client asks for.
    pub rights: Rights,
    /// The user must be asked even after agreeing before.
    pub must_ask: bool,
    pub(crate) state: Option<String>,
    pub(crate) challenge: String,
}

/// Refused request, and the place where its error is shown.
#[derive(Debug)]
pub enum AuthorizationError {
    /// The client or its address is unknown. A page shows the error, and the browser stays here.
    Page(OAuthError),
    /// The browser takes the error to the client, at this address.
    Redirect(String),
}

impl AuthorizationQuery {
    /// Reads the parameters of a query string. Fails if one occurs twice, because programs differ in
    /// which of them they believe.
    pub fn parse(raw: &str) -> Result<Self, OAuthError> {
        let parameters = parse_parameters(raw.as_bytes(), MAX_QUERY_LENGTH)?;
        Ok(Self { raw: raw.to_owned(), parameters })
    }

    /// Returns the query string as it was received.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns true if the id of the client is the address of a document, which the server would
    /// have to fetch.
    pub fn names_document(&self) -> bool {
        self.get("client_id").is_some_and(is_document_url)
    }

    /// Returns true if the client wants an answer without any page (`prompt=none`, OpenID Connect
    /// Core 1.0, section 3.1.2.1).
    pub fn forbids_pages(&self) -> bool {
        self.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none"))
    }

    /// Returns the redirect address as the client states it, if it is one to which codes are sent at
    /// all. The client need not have registered it.
    pub fn stated_redirect_uri(&self) -> Option<RedirectUri> {
        self.get("redirect_uri")?.parse().ok()
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl AuthorizationRequest {
    /// Returns the address that tells the client of an error (RFC 6749, section 4.1.2.1). The issuer
    /// lets the client notice an answer of another server (RFC 9207).
    pub(crate) fn error_redirect(&self, issuer: &str, error: &OAuthError) -> String {
        error_redirect(&self.redirect_uri, self.state.as_deref(), issuer, error)
    }

    /// Returns the address that hands the code to the client.
    pub(crate) fn code_redirect(&self, issuer: &str, code: &str) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let parameters: Vec<_> =
            [("code", code)].into_iter().chain(state).chain([("iss", issuer)]).collect();
        self.redirect_uri.with_parameters(&parameters)
    }
}

fn error_redirect(
    redirect_uri: &RedirectUri,
    state: Option<&str>,
    issuer: &str,
    error: &OAuthError,
) -> String {
    let fields = [("error", error.code), ("error_description", error.description.as_str())];
    let state = state.map(|state| ("state", state));
    let parameters: Vec<_> = fields.into_iter().chain(state).chain([("iss", issuer)]).collect();
    redirect_uri.with_parameters(&parameters)
}

impl AuthorizationServer {
    /// Checks what a client asks for. Fetches the document of the client, if its id is an address.
    pub fn check_request(
        &self,
        query: &AuthorizationQuery,
    ) -> Result<Result<AuthorizationRequest, AuthorizationError>, ServerError> {
        let page =
            |problem: &str| Ok(Err(AuthorizationError::Page(OAuthError::invalid_request(problem))));
        let Some(id) = query.get("client_id") else { return page("client_id is missing") };
        let client = match self.find_client(id)? {
            Ok(client) => client,
            Err(error) => return Ok(Err(AuthorizationError::Page(error))),
        };
        let Some(address) = query.get("redirect_uri") else {
            return page("redirect_uri is missing");
        };
        let Some(redirect_uri) = client.find_redirect_uri(address) else {
            return page("redirect_uri is not one of those that the client registered");
        };
        let state = query.get("state").map(str::to_owned);
        Ok(match self.check_parameters(query) {
            Ok((rights, challenge)) => {
                let must_ask = query.get("prompt").is_some_and(|prompt| prompt.contains("consent"));
                Ok(AuthorizationRequest {
                    client,
                    redirect_uri,
                    rights,
                    must_ask,
                    state,
                    challenge,
                })
            }
            Err(error) => Err(AuthorizationError::Redirect(error_redirect(
                &redirect_uri,
                state.as_deref(),
                self.public_url.as_str(),
                &error,
            ))),
        })
    }

    /// Returns the rights asked for and the code challenge.
    fn check_parameters(&self, query: &AuthorizationQuery) -> Result<(Rights, String), OAuthError> {
        match query.get("response_type") {
            Some("code") => {}
            _ => {
                return Err(OAuthError::new(
                    "unsupported_response_type",
                    "response_type must be code",
                ));
            }
        }
        if query.get("code_challenge_method") != Some("S256") {
            return Err(OAuthError::invalid_request("code_challenge_method must be S256"));
        }
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let challenge = query
            .get("code_challenge")
            .filter(|it| it.len() == CHALLENGE_LENGTH && it.bytes().all(is_base64))
            .ok_or_else(|| {
                OAuthError::invalid_request("code_challenge must be a SHA-256 hash as base64url")
            })?;
        self.check_resource(query.get("resource"))?;
        let requested = Rights::from_scopes(query.get("scope").unwrap_or_default().split(' '));
        let rights = if requested.contains(Right::Read) {
            requested
        } else {
            // The client asks for nothing in particular.
            Rights::from_iter([Right::Read])
        };
        Ok((rights, challenge.to_owned()))
    }

    /// Fails if a client asks for a token for another server. Without a resource, it is for this one.
    pub(crate) fn check_resource(&self, requested: Option<&str>) -> Result<(), OAuthError> {
        let is_ours = |text: &str| text.trim_end_matches('/') == self.resource;
        match requested {
            Some(requested) if !is_ours(requested) => Err(OAuthError::new(
                "invalid_target",
                format!("resource must be {}", self.resource),
            )),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_parameter_is_refused() {
        assert!(AuthorizationQuery::parse("a=1&b=2").is_ok());
        assert!(AuthorizationQuery::parse("a=1&a=1").is_err());
        assert!(AuthorizationQuery::parse(&"a".repeat(MAX_QUERY_LENGTH + 1)).is_err());
    }
}
