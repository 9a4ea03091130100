//! Dynamic registration of clients (RFC 7591). Everybody may register, so the number of clients is
//! bounded and unused ones are removed.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::Deserialize;
use vademecum_core::auth::KeyId;
use vademecum_kit::{model::Timestamp, store::Durability};

use super::{
    AuthorizationServer, Client, ClientKind, OAuthError, RedirectUri, ServerError,
    client::{MAX_REDIRECT_URIS, clean_name},
    error::store_error,
};

/// Maximum number of clients that never got a token.
const MAX_UNUSED: i64 = 1_000;
/// Time after which a client that never got a token is removed.
const UNUSED_LIFETIME: Duration = Duration::from_hours(24);
/// Time for which such a client is kept in any case, so that a flood does not disturb a login.
const PROTECTED_TIME: Duration = Duration::from_mins(10);
/// Time after which a client without a valid grant is removed.
const IDLE_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// Maximum number of registrations from one address within [`ADDRESS_WINDOW`].
const MAX_PER_ADDRESS: u32 = 60;
/// Period over which registrations of an address are counted.
const ADDRESS_WINDOW: Duration = Duration::from_hours(1);
/// Maximum number of addresses whose registrations are counted.
const MAX_ADDRESSES: usize = 10_000;

/// Refused registration.
#[derive(Debug)]
pub enum RegistrationError {
    /// The request is wrong.
    Refused(OAuthError),
    /// There are too many registrations; more are accepted after this time.
    TooMany(Duration),
}

/// Numbers of registrations of each address.
#[derive(Debug, Default)]
pub(crate) struct RegistrationCounts(Mutex<HashMap<IpAddr, (u32, Instant)>>);

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

impl RegistrationCounts {
    /// Counts a registration; returns the waiting time if there were too many.
    fn count(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let address = network(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_ADDRESSES && !counts.contains_key(&address) {
            counts.retain(|_, (_, begun)| now.duration_since(*begun) < ADDRESS_WINDOW);
            if counts.len() >= MAX_ADDRESSES {
                return Some(ADDRESS_WINDOW);
            }
        }
        let (count, begun) = counts.entry(address).or_insert((0, now));
        if now.duration_since(*begun) >= ADDRESS_WINDOW {
            (*count, *begun) = (0, now);
        }
        *count = count.saturating_add(1);
        (*count > MAX_PER_ADDRESS)
            .then(|| ADDRESS_WINDOW.saturating_sub(now.duration_since(*begun)))
    }
}

/// Returns the network of an address: one IPv6 client usually owns 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
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
        let stored = self.store.write(Durability::Full, |writer| {
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
            writer.execute(include_str!("sql/add_client.sql"), added)
        });
        Ok(stored.map_err(store_error("register a client"))? > 0)
    }
}

fn read_request(body: &[u8]) -> Result<Client, OAuthError> {
    let wrong = |problem: &str| OAuthError::new("invalid_client_metadata", problem);
    let request: Request = serde_json::from_slice(body)
        .map_err(|error| wrong(&format!("the registration is not valid JSON: {error}")))?;
    let supports =
        |asked: &[String], known: &str| asked.is_empty() || asked.iter().any(|it| it == known);
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
    fn registrations_of_one_network_are_counted_together() {
        let (counts, now) = (RegistrationCounts::default(), Instant::now());
        for number in 0..MAX_PER_ADDRESS {
            let address =
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::try_from(number).unwrap());
            assert_eq!(counts.count(address.into(), now), None);
        }
        let next: IpAddr = "2001:db8::ffff".parse().unwrap();
        assert_eq!(counts.count(next, now), Some(ADDRESS_WINDOW));
        assert_eq!(counts.count("192.0.2.1".parse().unwrap(), now), None);
        assert_eq!(counts.count(next, now + ADDRESS_WINDOW), None);
    }

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
