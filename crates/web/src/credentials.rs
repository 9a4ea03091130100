//! Authentication middleware and the responses to rejected callers.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Once,
};

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
use vademecum_accounts::{AuthRejection, CallerAccount, Credentials, key_of_token};
use vademecum_core::{
    audit::{AuditEntry, AuditOutcome},
    auth::{Principal, Right},
    config::Auth,
};
use vademecum_mcp::{ReplyStatus, Service};

use super::{
    ServerState, origin_check::is_from_browser_extension, refused_message::read_refused_message,
    wire_names::WEBSOCKET_PATH,
};

/// Header for API keys of clients that cannot send `Authorization`.
const API_KEY_HEADER: &str = "x-api-key";
/// Header with the user that a delegating key acts for.
const USER_HEADER: &str = "x-user-id";
/// Header with the access tags that a delegating key adds.
const TAGS_HEADER: &str = "x-session-tags";
/// Header in which proxies record the original client address.
const FORWARDED_FOR_HEADER: &str = "x-forwarded-for";
/// Prefix of a WebSocket subprotocol that carries a token, because browsers cannot set headers
/// there.
const TOKEN_SUBPROTOCOL_PREFIX: &str = "bearer.";

/// Authenticated caller with the credentials used.
#[derive(Clone, Debug)]
pub(crate) struct AuthenticatedCaller {
    principal: Principal,
    credentials: Credentials,
    address: Option<IpAddr>,
}

impl AuthenticatedCaller {
    /// Returns the principal that the credentials prove.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the address of the client.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Authenticates the credentials again, for connections that may outlive them. Fails if they
    /// are no longer valid for the same principal.
    pub(crate) async fn revalidate(&self, server_state: &ServerState) -> Result<(), AuthRejection> {
        let found = server_state.authenticator.authenticate(&self.credentials).await?;
        if found == self.principal { Ok(()) } else { Err(AuthRejection::Invalid) }
    }
}

/// Middleware that passes on authenticated requests and rejects all others.
pub(crate) async fn authenticate_request(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let Some(server_state) = request.app_data::<web::Data<ServerState>>().cloned() else {
        let answer = HttpResponse::ServiceUnavailable().finish();
        return Ok(request.into_response(answer).map_into_boxed_body());
    };
    match authenticate_caller(&request, &server_state).await {
        Ok(admitted) => {
            request.extensions_mut().insert(admitted);
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(refusal) => {
            record_rejection(&request, &server_state, &refusal);
            let message = read_refused_message(&mut request).await;
            let answer = rejection_response(&refusal, &message, &server_state.auth);
            Ok(request.into_response(answer).map_into_boxed_body())
        }
    }
}

async fn authenticate_caller(
    request: &ServiceRequest,
    server_state: &ServerState,
) -> Result<AuthenticatedCaller, AuthRejection> {
    let credentials = read_credentials(request, server_state)?;
    let principal = server_state.authenticator.authenticate(&credentials).await?;
    // The address is dropped: failed logins of others from there must not lock out an authenticated
    // caller.
    let address = credentials.address;
    let credentials = Credentials { address: None, ..credentials };
    Ok(AuthenticatedCaller { principal, credentials, address })
}

/// Records a failed login in the log and in the audit log. A request without any credential is how
/// clients discover that one is required, and access tokens expire all the time: these are no failed
/// logins.
fn record_rejection(
    request: &ServiceRequest,
    server_state: &ServerState,
    rejection: &AuthRejection,
) {
    let reason = rejection.code();
    let is_expected = matches!(
        rejection,
        AuthRejection::Missing | AuthRejection::Unavailable | AuthRejection::AccessTokenExpired
    );
    if is_expected {
        tracing::info!(reason, "authentication required");
        return;
    }
    let address = request_address(request.peer_addr(), request.headers(), &server_state.auth);
    // docs/audit.md promises this line to programs that block addresses.
    let shown = address.map_or_else(|| "unknown".to_owned(), |address| address.to_string());
    tracing::warn!(address = %shown, reason, "login failed");
    let token = read_token(request, &server_state.auth).ok().flatten();
    let transport = if request.path() == WEBSOCKET_PATH { "websocket" } else { "http" };
    server_state.service.audit_log().record(AuditEntry {
        key: token.as_ref().and_then(key_of_token),
        address,
        reason: Some(reason),
        ..AuditEntry::new("login", transport, AuditOutcome::Denied)
    });
}

/// Reads the credentials of a request.
fn read_credentials(
    request: &ServiceRequest,
    server_state: &ServerState,
) -> Result<Credentials, AuthRejection> {
    let headers = request.headers();
    let user = single_header(headers, USER_HEADER, "send one x-user-id, in visible ASCII")?
        .map(str::to_owned);
    let tags = single_header(headers, TAGS_HEADER, "send one x-session-tags, in visible ASCII")?
        .map(str::to_owned);
    // The browser has the user's account; its extensions need a token of their own.
    let account = if is_from_browser_extension(headers) {
        CallerAccount::default()
    } else {
        request.conn_data::<CallerAccount>().copied().unwrap_or_default()
    };
    // Tokens are ignored if none is required.
    let token = if server_state.authenticator.needs_token(account) {
        read_token(request, &server_state.auth)?
    } else {
        None
    };
    let address = request_address(request.peer_addr(), request.headers(), &server_state.auth);
    Ok(Credentials { token, user, tags, address, account })
}

/// Reads the token of a request from any supported place. Fails if there are several different
/// ones.
fn read_token(
    request: &ServiceRequest,
    settings: &Auth,
) -> Result<Option<SecretString>, AuthRejection> {
    let headers = request.headers();
    let authorization =
        single_header(headers, header::AUTHORIZATION.as_str(), "send one Authorization header")?;
    let key = single_header(headers, API_KEY_HEADER, "send one x-api-key, in visible ASCII")?;
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(','));
    let in_address = query_token(request, settings)?;
    let shown = authorization
        .and_then(bearer_token)
        .into_iter()
        .chain(key)
        .chain(offered.filter_map(|name| name.trim().strip_prefix(TOKEN_SUBPROTOCOL_PREFIX)))
        .chain(in_address.as_deref());
    let mut shown: Vec<&str> = shown.collect();
    shown.dedup();
    match shown.as_slice() {
        [] => Ok(None),
        [token] if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(AuthRejection::Malformed("the key or token is empty or has spaces in it"))
        }
        [token] => Ok(Some((*token).into())),
        _ => Err(AuthRejection::Malformed("send one key or token, not several")),
    }
}

/// Returns the value of a header that may occur at most once.
fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &str,
    problem: &'static str,
) -> Result<Option<&'a str>, AuthRejection> {
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| AuthRejection::Malformed(problem))
        }
        (Some(_), Some(_)) => Err(AuthRejection::Malformed(problem)),
    }
}

/// Returns the token of an `Authorization: Bearer` header; `None` for other schemes.
fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Returns the token in the query string. Fails if the settings do not allow one there.
fn query_token(request: &ServiceRequest, settings: &Auth) -> Result<Option<String>, AuthRejection> {
    #[derive(Deserialize)]
    struct Address {
        access_token: Option<String>,
    }
    let address = web::Query::<Address>::from_query(request.query_string())
        .map_err(|_| AuthRejection::Malformed("the query string is invalid"))?;
    match address.into_inner().access_token {
        Some(_) if !settings.query_tokens => Err(AuthRejection::Malformed(
            "tokens in the URL end up in logs and histories: send `Authorization: Bearer`",
        )),
        token => Ok(token),
    }
}

/// Returns the address of the client that sent a request over a connection from `peer`.
pub(crate) fn request_address(
    peer: Option<SocketAddr>,
    headers: &HeaderMap,
    settings: &Auth,
) -> Option<IpAddr> {
    peer.map(|peer| client_address(peer.ip(), headers, settings))
}

/// Returns the client's address: the last forwarded address that is not a trusted proxy.
fn client_address(peer: IpAddr, headers: &HeaderMap, settings: &Auth) -> IpAddr {
    if peer.is_loopback() && headers.contains_key(FORWARDED_FOR_HEADER) {
        warn_of_untrusted_proxy(peer, settings);
    }
    let is_proxy = |address: &IpAddr| settings.trusted_proxies.contains(&address.to_canonical());
    let mut nearest = peer;
    let passed: Vec<&str> = headers
        .get_all(FORWARDED_FOR_HEADER)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .collect();
    for forwarded in passed.iter().rev() {
        match forwarded.trim().parse() {
            Ok(address) if is_proxy(&nearest) => nearest = address,
            Ok(_) | Err(_) => break,
        }
    }
    nearest
}

/// Warns once of a proxy on this machine that is not trusted: all of its clients have one address.
fn warn_of_untrusted_proxy(peer: IpAddr, settings: &Auth) {
    static WARNING: Once = Once::new();
    if !settings.trusted_proxies.contains(&peer.to_canonical()) {
        WARNING.call_once(|| {
            tracing::warn!(
                %peer,
                "a proxy that is not in auth.trusted_proxies forwards requests: failed logins of \
                 one client delay those of all"
            );
        });
    }
}

fn rejection_response(refusal: &AuthRejection, message: &str, settings: &Auth) -> HttpResponse {
    let status = match refusal {
        AuthRejection::Missing
        | AuthRejection::NoLocalToken
        | AuthRejection::Invalid
        | AuthRejection::Expired
        | AuthRejection::AccessTokenExpired
        | AuthRejection::NotYetValid
        | AuthRejection::WrongAudience
        | AuthRejection::NotAccessToken
        | AuthRejection::NoUser => StatusCode::UNAUTHORIZED,
        AuthRejection::Malformed(_)
        | AuthRejection::InvalidUserId(_)
        | AuthRejection::InvalidTags(_) => StatusCode::BAD_REQUEST,
        AuthRejection::OtherAccount
        | AuthRejection::NotAdmitted
        | AuthRejection::NotDelegating(_)
        | AuthRejection::UserOutOfScope(_)
        | AuthRejection::TagOutOfScope(_)
        | AuthRejection::Suspended => StatusCode::FORBIDDEN,
        AuthRejection::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
        AuthRejection::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut answer = HttpResponse::build(status);
    if let AuthRejection::TooManyAttempts { wait } = refusal {
        add_status_headers(&mut answer, ReplyStatus::TooMany(*wait), settings);
    }
    if status == StatusCode::UNAUTHORIZED {
        let error = match refusal {
            // A request without credentials is not an authentication error (RFC 6750, section 3.1).
            AuthRejection::Missing | AuthRejection::NoLocalToken => None,
            _ => Some("invalid_token"),
        };
        answer.insert_header((
            header::WWW_AUTHENTICATE,
            auth_challenge(error, Right::Read, settings),
        ));
    }
    // Gateways for agents expect a JSON-RPC error. Malformed tags or users are reported as invalid
    // parameters of the message.
    let problem = refusal.to_string();
    let body = match status {
        StatusCode::BAD_REQUEST => Service::parameter_rejection(message, &problem),
        _ => Service::caller_rejection(message, &problem),
    };
    answer.content_type("application/json").body(body)
}

/// Adds the headers that explain a status: `WWW-Authenticate` or `Retry-After`.
pub(crate) fn add_status_headers(
    answer: &mut HttpResponseBuilder,
    status: ReplyStatus,
    settings: &Auth,
) {
    match status {
        ReplyStatus::Forbidden(right) => {
            let challenge = auth_challenge(Some("insufficient_scope"), right, settings);
            answer.insert_header((header::WWW_AUTHENTICATE, challenge));
        }
        ReplyStatus::TooMany(wait) | ReplyStatus::Busy(wait) => {
            // Rounded up to whole seconds, so that the wait is long enough.
            answer.insert_header((header::RETRY_AFTER, (wait.as_secs() + 1).to_string()));
        }
        ReplyStatus::Ok
        | ReplyStatus::Accepted
        | ReplyStatus::BadRequest
        | ReplyStatus::NotFound => {}
    }
}

/// Returns the `WWW-Authenticate` challenge with scope and metadata URL.
fn auth_challenge(error: Option<&str>, right: Right, settings: &Auth) -> String {
    let error = error.map(|error| format!("error=\"{error}\""));
    let scope = Some(format!("scope=\"{right}\""));
    let metadata = settings.resource.as_ref();
    let metadata =
        metadata.map(|resource| format!("resource_metadata=\"{}\"", resource.metadata_url()));
    let parts: Vec<String> = [error, scope, metadata].into_iter().flatten().collect();
    format!("Bearer {}", parts.join(", "))
}
