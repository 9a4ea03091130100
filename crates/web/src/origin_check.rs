//! Checks of host, origin and content type against DNS rebinding and cross-site requests: a browser
//! on this machine can be made to send requests here, but it cannot forge `Host` and `Origin`, and
//! a page of another origin cannot send JSON without asking first. Forms of pages carry a token.
//! Browser extensions may save pages, with a token.

use actix_cors::Cors;
use actix_web::{
    Error, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode, Uri,
        header::{self, HeaderMap, HeaderName},
        uri::Authority,
    },
    middleware::Next,
    web,
};
use vademecum_accounts::CallerAccount;
use vademecum_mcp::Service;

use super::{
    ServerState,
    oauth::accepts_form,
    refused_message::read_refused_message,
    request_id::REQUEST_ID_HEADER,
    wire_names::{MCP_PATH, SESSION_HEADER},
};
use crate::templates::CLIP_PATH;

/// Middleware that passes on requests with an allowed host, origin and content type and rejects all
/// others.
pub(crate) async fn check_request(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let allowed = match request.app_data::<web::Data<ServerState>>() {
        Some(server_state) => check_host_and_origin(&request, server_state),
        None => Err("the server is not ready".to_owned()),
    };
    let answer = match allowed {
        Ok(())
            if has_foreign_body(request.headers())
                && !accepts_form(request.path(), request.headers()) =>
        {
            let reason = "the body must be JSON: send the header content-type: application/json";
            let message = read_refused_message(&mut request).await;
            HttpResponse::build(StatusCode::UNSUPPORTED_MEDIA_TYPE)
                .content_type("application/json")
                .body(Service::rejection_of(&message, reason))
        }
        Ok(()) => return Ok(next.call(request).await?.map_into_boxed_body()),
        Err(reason) => {
            tracing::warn!(%reason, "rejected a request");
            if request.path() == MCP_PATH {
                let message = read_refused_message(&mut request).await;
                let body = Service::caller_rejection(&message, &reason);
                HttpResponse::Forbidden().content_type("application/json").body(body)
            } else {
                HttpResponse::Forbidden().json(serde_json::json!({ "error": reason }))
            }
        }
    };
    Ok(request.into_response(answer).map_into_boxed_body())
}

/// Returns whether there is a body that is not declared as JSON. A page may send a body of another
/// type, or without one, to any server.
fn has_foreign_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    let has_body = length.is_some_and(|length| length != "0")
        || headers.contains_key(header::TRANSFER_ENCODING);
    let is_json = |value: &header::HeaderValue| {
        let kind = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("application/json")
    };
    let mut types = headers.get_all(header::CONTENT_TYPE);
    has_body && !(types.next().is_some_and(is_json) && types.next().is_none())
}

/// Returns the CORS policy for pages from allowed origins.
pub(crate) fn cors_policy(server_state: &web::Data<ServerState>) -> Cors {
    let server_state = server_state.clone();
    Cors::default()
        .allowed_origin_fn(move |origin, request| {
            let origin = origin.to_str().unwrap_or_default();
            let host = single_value(request.headers(), &header::HOST).ok().flatten();
            is_origin_allowed(origin, host, &server_state.server.allowed_origins)
        })
        .allowed_methods(["POST", "GET", "DELETE"])
        .allow_any_header()
        .expose_headers([SESSION_HEADER, REQUEST_ID_HEADER, "www-authenticate", "retry-after"])
        .max_age(600)
}

fn check_host_and_origin(
    request: &ServiceRequest,
    server_state: &ServerState,
) -> Result<(), String> {
    let settings = &server_state.server;
    let host = single_value(request.headers(), &header::HOST)?;
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    match host {
        Some(host) if is_host_allowed(host, &settings.allowed_hosts) => {}
        Some(host) => {
            return Err(format!("host `{host}` is not served; add it to server.allowed_hosts"));
        }
        None => return Err("the Host header is missing".to_owned()),
    }
    match single_value(request.headers(), &header::ORIGIN)? {
        None => Ok(()),
        Some(origin) if is_origin_allowed(origin, host, &settings.allowed_origins) => Ok(()),
        Some(origin)
            if is_browser_extension(origin)
                && request.path() == CLIP_PATH
                && server_state.authenticator.needs_token(CallerAccount::default()) =>
        {
            Ok(())
        }
        Some(origin) => {
            Err(format!("origin `{origin}` may not connect; add it to server.allowed_origins"))
        }
    }
}

/// Returns the value of a header that may occur once; an unreadable value is empty.
fn single_value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name);
    let first = values.next().map(|value| value.to_str().unwrap_or_default());
    match values.next() {
        Some(_) => Err(format!("there is more than one {name} header")),
        None => Ok(first),
    }
}

fn is_host_allowed(host: &str, allowed: &[String]) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    is_loopback_name(authority.host())
        || allowed.iter().any(|name| name == host || name == authority.host())
}

/// Returns whether an origin is configured or is this server itself, which the client addresses as
/// `host`. Other programs on this machine serve pages too, so their origins must be configured.
fn is_origin_allowed(origin: &str, host: Option<&str>, allowed: &[String]) -> bool {
    if allowed.iter().any(|name| name.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return false;
    };
    host.is_some_and(|host| host.eq_ignore_ascii_case(authority.as_str()))
}

/// Returns whether a request comes from a browser extension, such as one that saves pages. No web
/// page has such an origin, but the user may have installed any extension: it needs a token, also on
/// this machine.
pub(super) fn is_from_browser_extension(headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    origin.is_some_and(is_browser_extension)
}

fn is_browser_extension(origin: &str) -> bool {
    let schemes = ["chrome-extension://", "moz-extension://", "safari-web-extension://"];
    schemes.iter().any(|scheme| origin.starts_with(scheme))
}

fn is_loopback_name(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_configured_hosts_are_allowed() {
        let allowed = ["box.example".to_owned()];
        for host in ["localhost", "LOCALHOST:7744", "127.0.0.1:1", "[::1]:7744", "box.example:80"] {
            assert!(is_host_allowed(host, &allowed), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil", "", "a b", "user@"]
        {
            assert!(!is_host_allowed(host, &allowed), "{host}");
        }
    }

    #[test]
    fn own_and_configured_origins_are_allowed() {
        let allowed = ["https://app.example".to_owned()];
        let own = Some("localhost:7744");
        for origin in ["http://localhost:7744", "HTTP://LOCALHOST:7744", "https://app.example"] {
            assert!(is_origin_allowed(origin, own, &allowed), "{origin}");
        }
        for origin in [
            "http://localhost:3000",
            "http://localhost",
            "http://127.0.0.1:7744",
            "null",
            "http://evil.example",
            "https://app.example.evil",
            "file://localhost:7744",
            "",
        ] {
            assert!(!is_origin_allowed(origin, own, &allowed), "{origin}");
        }
        assert!(!is_origin_allowed("http://localhost:7744", None, &allowed));
    }
}
