//! Host and origin checks against DNS rebinding and cross-site requests: a browser on this machine
//! can be made to send requests here, but it cannot forge `Host` and `Origin`.

use actix_cors::Cors;
use actix_web::{
    Error, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{Uri, header},
    middleware::Next,
    web,
};

use super::{ServerState, query::SESSION_HEADER, request_id::REQUEST_ID_HEADER};

/// Middleware that passes on requests with an allowed host and origin and rejects all others.
pub(crate) async fn check_request(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let allowed = match request.app_data::<web::Data<ServerState>>() {
        Some(server_state) => check_host_and_origin(&request, server_state),
        None => Err("the server is not ready".to_owned()),
    };
    match allowed {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(reason) => {
            tracing::warn!(%reason, "rejected a request");
            let answer = HttpResponse::Forbidden().json(serde_json::json!({ "error": reason }));
            Ok(request.into_response(answer).map_into_boxed_body())
        }
    }
}

/// Returns the CORS policy for pages from allowed origins.
pub(crate) fn cors_policy(server_state: &web::Data<ServerState>) -> Cors {
    let server_state = server_state.clone();
    Cors::default()
        .allowed_origin_fn(move |origin, _| {
            let origin = origin.to_str().unwrap_or_default();
            is_origin_allowed(origin, &server_state.server.allowed_origins)
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
    let value = |name: header::HeaderName| {
        let mut values = request.headers().get_all(name);
        let first = values.next().map(|value| value.to_str().unwrap_or_default().to_owned());
        (first, values.next().is_some())
    };
    let (host, many_hosts) = value(header::HOST);
    let host = host.or_else(|| request.uri().authority().map(ToString::to_string));
    match host {
        Some(host) if !many_hosts && is_host_allowed(&host, &server_state.server.allowed_hosts) => {
        }
        Some(host) => {
            return Err(format!("host `{host}` is not served; add it to server.allowed_hosts"));
        }
        None => return Err("the Host header is missing".to_owned()),
    }
    match value(header::ORIGIN) {
        (None, _) => Ok(()),
        (Some(origin), false)
            if is_origin_allowed(&origin, &server_state.server.allowed_origins) =>
        {
            Ok(())
        }
        (Some(origin), _) => {
            Err(format!("origin `{origin}` may not connect; add it to server.allowed_origins"))
        }
    }
}

fn is_host_allowed(host: &str, allowed: &[String]) -> bool {
    let Ok(authority) = host.parse::<actix_web::http::uri::Authority>() else { return false };
    is_loopback_name(authority.host())
        || allowed.iter().any(|name| name == host || name == authority.host())
}

fn is_origin_allowed(origin: &str, allowed: &[String]) -> bool {
    if allowed.iter().any(|name| name.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    is_web && uri.host().is_some_and(is_loopback_name)
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
    fn loopback_and_configured_origins_are_allowed() {
        let allowed = ["https://app.example".to_owned()];
        for origin in
            ["http://localhost:3000", "https://127.0.0.1", "http://[::1]", "https://app.example"]
        {
            assert!(is_origin_allowed(origin, &allowed), "{origin}");
        }
        for origin in
            ["null", "http://evil.example", "https://app.example.evil", "file://localhost", ""]
        {
            assert!(!is_origin_allowed(origin, &allowed), "{origin}");
        }
    }
}
