//! Dynamic registration of clients (RFC 7591). Everybody may register, so the number of clients is
//! bounded and unused ones are removed.

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use serde::Deserialize;
use vademecum_core::auth::KeyId;
use vademecum_model::Timestamp;

use super::{
    AuthorizationServer, Client, ClientKind, OAuthError, RedirectUri, ServerError,
    client::{MAX_REDIRECT_URIS, clean_name},
};

/// Inserts a client, unless there are `:max` that never got a token.
const ADD_CLIENT_SQL: &str = "INSERT INTO oauth_clients (id, name, redirect_uris, created_at) \
     SELECT :id, :name, :redirect_uris, :now \
     WHERE (SELECT count(*) FROM oauth_clients WHERE used_at IS NULL) < :max";

/// Maximum number of clients that never got a token.
const MAX_UNUSED: i64 = 1_000;
/// Time after which a client that never got a token is removed.
const UNUSED_LIFETIME: Duration = Duration::from_hours(24);
/// Time for which such a client is kept in any case, so that a flood does not disturb a login.
const PROTECTED_TIME: Duration = Duration::from_mins(10);
/// Time after which a client without a valid grant is removed.
const IDLE_LIFETIME: Duration = Duration::from_hours(90 * 24);

/// Registration that stored no client.
#[derive(Debug)]
pub enum RegistrationError {
    /// The request is wrong.
    Refused(OAuthError),
    /// There are too many registrations; more are accepted after this time.
    TooMany(Duration),
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    client_name: String,
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default)]
    grant_types: Vec<String>,
    #[serde(default)]
    response_types: Vec<String>,
}

impl AuthorizationServer {
    /// Registers a client from the JSON that it sent. Blocks.
    pub fn register(
        &self,
        body: &[u8],
        address: Option<IpAddr>,
    ) -> Result<Result<Client, RegistrationError>, ServerError> {
        let client = match read_request(body) {
            Ok(client) => client,
            Err(error) => return Ok(Err(RegistrationError::Refused(error))),
        };
        let counted = address.and_then(|address| self.registrations.count(address, Instant::now()));
        if let Some(wait) = counted {
            return Ok(Err(RegistrationError::TooMany(wait)));
        }
        let client = Client { id: format!("client-{}", KeyId::generate()?), ..client };
        if self.store_client(&client)? {
            Ok(Ok(client))
        } else {
            Ok(Err(RegistrationError::TooMany(PROTECTED_TIME)))
        }
    }

    /// Stores a client. Removes those that are not used any more first, and returns false if there
    /// are still too many.
    fn store_client(&self, client: &Client) -> Result<bool, ServerError> {
        let now = Timestamp::now();
        let uris: Vec<&str> = client.redirect_uris.iter().map(RedirectUri::as_str).collect();
        let uris = serde_json::Value::from(uris).to_string();
        let stored = self.write("register a client", |writer| {
            let times: &[(&str, &dyn rusqlite::ToSql)] = &[
                (":unused_since", &now.minus(UNUSED_LIFETIME)),
                (":idle_since", &now.minus(IDLE_LIFETIME)),
                (":now", &now),
            ];
            writer.execute(include_str!("sql/delete_idle_clients.sql"), times)?;
            let bounds: &[(&str, &dyn rusqlite::ToSql)] =
                &[(":protected_since", &now.minus(PROTECTED_TIME)), (":max", &(MAX_UNUSED - 1))];
            writer.execute(include_str!("sql/delete_unused_clients.sql"), bounds)?;
            let added: &[(&str, &dyn rusqlite::ToSql)] = &[
                (":id", &client.id),
                (":name", &client.name),
                (":redirect_uris", &uris),
                (":now", &now),
                (":max", &MAX_UNUSED),
            ];
            writer.execute(ADD_CLIENT_SQL, added)
        })?;
        Ok(stored > 0)
    }
}

fn read_request(body: &[u8]) -> Result<Client, OAuthError> {
    let wrong = |problem: &str| OAuthError::new("invalid_client_metadata", problem);
    let request: Request = serde_json::from_slice(body)
        .map_err(|error| wrong(&format!("the registration is not valid JSON: {error}")))?;
    let supports = |requested: &[String], known: &str| {
        requested.is_empty() || requested.iter().any(|it| it == known)
    };
    if !supports(&request.grant_types, "authorization_code") {
        return Err(wrong("grant_types: only authorization_code and refresh_token are supported"));
    }
    if !supports(&request.response_types, "code") {
        return Err(wrong("response_types: only code is supported"));
    }
    let uris = &request.redirect_uris;
    if uris.is_empty() || uris.len() > MAX_REDIRECT_URIS {
        return Err(OAuthError::new(
            "invalid_redirect_uri",
            format!("redirect_uris: name 1 to {MAX_REDIRECT_URIS}"),
        ));
    }
    let uris = uris.iter().map(|text| text.parse::<RedirectUri>());
    let redirect_uris = uris.collect::<Result<Vec<_>, _>>();
    let redirect_uris = redirect_uris
        .map_err(|error| OAuthError::new("invalid_redirect_uri", error.to_string()))?;
    let name = clean_name(&request.client_name);
    Ok(Client { id: String::new(), name, redirect_uris, kind: ClientKind::Registered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registration_request_is_checked() {
        for (body, code) in [
            ("{", "invalid_client_metadata"),
            ("7", "invalid_client_metadata"),
            ("{}", "invalid_redirect_uri"),
            (r#"{"redirect_uris":["http://evil.example/"]}"#, "invalid_redirect_uri"),
            (
                r#"{"redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]}"#,
                "invalid_client_metadata",
            ),
            (
                r#"{"redirect_uris":["https://a.example/"],"response_types":["token"]}"#,
                "invalid_client_metadata",
            ),
        ] {
            assert_eq!(read_request(body.as_bytes()).unwrap_err().code, code, "{body}");
        }
        assert!(read_request(br#"{"redirect_uris":["https://a.example/"]}"#).is_ok());
    }
}
