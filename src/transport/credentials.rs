//! Asks who sends a request, and says what to do to whoever is not let in.

use std::net::IpAddr;

use actix_web::{
    Error, HttpMessage, HttpResponse, HttpResponseBuilder,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{self, HeaderMap},
    },
    middleware::Next,
    web,
};
use secrecy::SecretString;
use serde::Deserialize;

use super::Door;
use vademecum_core::{
    auth::{Credentials, Principal, Refusal, Right},
    config::Auth,
};
use vademecum_mcp::{Service, Status};

/// A header for keys, of clients that cannot send `Authorization`.
const API_KEY: &str = "x-api-key";
/// Names the user that a delegating key speaks for.
const USER: &str = "x-user-id";
/// Lists the access tags that a delegating key brings.
const TAGS: &str = "x-session-tags";
/// Where proxies say for whom they speak.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// What a WebSocket subprotocol begins with that is a token: browsers can send
/// no header there.
const SUBPROTOCOL: &str = "bearer.";

/// Somebody who was let in, and what was shown for it.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    principal: Principal,
    credentials: Credentials,
}

impl Admitted {
    /// Who it is.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Looks again, for connections that last longer than what was shown.
    pub(crate) async fn again(&self, door: &Door) -> Result<(), Refusal> {
        let found = door.authenticator.authenticate(&self.credentials).await?;
        if found == self.principal { Ok(()) } else { Err(Refusal::Invalid) }
    }
}

/// Lets a request through if it shows who sends it.
pub(crate) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let Some(door) = request.app_data::<web::Data<Door>>().cloned() else {
        let answer = HttpResponse::ServiceUnavailable().finish();
        return Ok(request.into_response(answer).map_into_boxed_body());
    };
    match admit(&request, &door).await {
        Ok(admitted) => {
            request.extensions_mut().insert(admitted);
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(refusal) => {
            tracing::info!(reason = %refusal, "asked somebody who they are");
            let answer = refuse(&refusal, &door.auth);
            Ok(request.into_response(answer).map_into_boxed_body())
        }
    }
}

async fn admit(request: &ServiceRequest, door: &Door) -> Result<Admitted, Refusal> {
    let credentials = read(request, door)?;
    let principal = door.authenticator.authenticate(&credentials).await?;
    // Whoever is in is not shut out by what others from there try.
    Ok(Admitted { principal, credentials: Credentials { address: None, ..credentials } })
}

/// Collects what a request shows.
fn read(request: &ServiceRequest, door: &Door) -> Result<Credentials, Refusal> {
    let headers = request.headers();
    let user = only(headers, USER, "send one x-user-id, in visible ASCII")?.map(str::to_owned);
    let tags = only(headers, TAGS, "send one x-session-tags, in visible ASCII")?.map(str::to_owned);
    // Where nobody is asked, what else is shown is nobody's business.
    let token = if door.authenticator.asks() { token(request, &door.auth)? } else { None };
    let address = request.peer_addr().map(|peer| client(peer.ip(), headers, &door.auth));
    Ok(Credentials { token, user, tags, address })
}

/// The one token that a request shows, wherever it stands.
fn token(request: &ServiceRequest, settings: &Auth) -> Result<Option<SecretString>, Refusal> {
    let headers = request.headers();
    let authorization =
        only(headers, header::AUTHORIZATION.as_str(), "send one Authorization header")?;
    let key = only(headers, API_KEY, "send one x-api-key, in visible ASCII")?;
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(','));
    let in_address = in_address(request, settings)?;
    let shown = authorization
        .and_then(bearer)
        .into_iter()
        .chain(key)
        .chain(offered.filter_map(|name| name.trim().strip_prefix(SUBPROTOCOL)))
        .chain(in_address.as_deref());
    let mut shown: Vec<&str> = shown.collect();
    shown.dedup();
    match shown.as_slice() {
        [] => Ok(None),
        [token] if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(Refusal::Malformed("the key or token is empty or has spaces in it"))
        }
        [token] => Ok(Some((*token).into())),
        _ => Err(Refusal::Malformed("send one key or token, not several")),
    }
}

/// The value of a header that may be sent once.
fn only<'a>(
    headers: &'a HeaderMap,
    name: &str,
    problem: &'static str,
) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| Refusal::Malformed(problem)),
        (Some(_), Some(_)) => Err(Refusal::Malformed(problem)),
    }
}

/// The token of an `Authorization` header; another scheme shows nothing.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The token in the address, if it may stand there.
fn in_address(request: &ServiceRequest, settings: &Auth) -> Result<Option<String>, Refusal> {
    #[derive(Deserialize)]
    struct Address {
        access_token: Option<String>,
    }
    let address = web::Query::<Address>::from_query(request.query_string())
        .map_err(|_| Refusal::Malformed("the address is not right"))?;
    match address.into_inner().access_token {
        Some(_) if !settings.query_tokens => Err(Refusal::Malformed(
            "a token in the address ends up in logs and histories: send `Authorization: Bearer`",
        )),
        token => Ok(token),
    }
}

/// Where a request comes from: the nearest address that is no proxy of ours.
fn client(peer: IpAddr, headers: &HeaderMap, settings: &Auth) -> IpAddr {
    let is_proxy = |address: &IpAddr| settings.trusted_proxies.contains(&address.to_canonical());
    let mut nearest = peer;
    let passed: Vec<&str> = headers
        .get_all(FORWARDED_FOR)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .collect();
    for said in passed.iter().rev() {
        match said.trim().parse() {
            Ok(address) if is_proxy(&nearest) => nearest = address,
            Ok(_) | Err(_) => break,
        }
    }
    nearest
}

fn refuse(refusal: &Refusal, settings: &Auth) -> HttpResponse {
    let status = match refusal {
        Refusal::Missing
        | Refusal::Invalid
        | Refusal::Expired
        | Refusal::Early
        | Refusal::Audience
        | Refusal::Nobody => StatusCode::UNAUTHORIZED,
        Refusal::Malformed(_) | Refusal::User(_) | Refusal::Tags(_) => StatusCode::BAD_REQUEST,
        Refusal::NotDelegating(_) | Refusal::UnknownUser(_) => StatusCode::FORBIDDEN,
        Refusal::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut answer = HttpResponse::build(status);
    if let Refusal::TooMany { wait } = refusal {
        explain(&mut answer, Status::TooMany(*wait), settings);
    }
    if status == StatusCode::UNAUTHORIZED {
        let error = match refusal {
            // Whoever has shown nothing has made no mistake.
            Refusal::Missing => None,
            _ => Some("invalid_token"),
        };
        answer.insert_header((header::WWW_AUTHENTICATE, challenge(error, Right::Read, settings)));
    }
    // Who names tags or a user wrongly has sent a message with wrong parameters.
    if status == StatusCode::BAD_REQUEST {
        answer.content_type("application/json");
        return answer.body(Service::refuse_parameters(&refusal.to_string()));
    }
    answer.json(serde_json::json!({ "error": refusal.to_string() }))
}

/// Says in headers what a status says in short.
pub(crate) fn explain(answer: &mut HttpResponseBuilder, status: Status, settings: &Auth) {
    match status {
        Status::Forbidden(right) => {
            let challenge = challenge(Some("insufficient_scope"), right, settings);
            answer.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        Status::TooMany(wait) | Status::Busy(wait) => {
            // Rounded up: whoever waits that long has waited long enough.
            answer.insert_header((header::RETRY_AFTER, (wait.as_secs() + 1).to_string()));
        }
        Status::Ok | Status::Accepted | Status::BadRequest | Status::NotFound => {}
    }
}

/// Says which credentials are wanted, and where to get them.
fn challenge(error: Option<&str>, right: Right, settings: &Auth) -> String {
    let error = error.map(|error| format!("error=\"{error}\""));
    let scope = Some(format!("scope=\"{right}\""));
    let metadata = settings.resource.as_ref();
    let metadata =
        metadata.map(|resource| format!("resource_metadata=\"{}\"", resource.metadata()));
    let parts: Vec<String> = [error, scope, metadata].into_iter().flatten().collect();
    format!("Bearer {}", parts.join(", "))
}
