//! Keeps web pages of other people out: a browser on this machine can be made
//! to send requests here, but not to lie about `Host` and `Origin`.

use actix_cors::Cors;
use actix_web::{
    Error, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{Uri, header},
    middleware::Next,
    web,
};

use super::{Door, query::SESSION, request_id::REQUEST_ID};

/// Lets a request through if it was meant for this server, by somebody who may.
pub(crate) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let allowed = match request.app_data::<web::Data<Door>>() {
        Some(door) => judge(&request, door),
        None => Err("the server is not ready".to_owned()),
    };
    match allowed {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(reason) => {
            tracing::warn!(%reason, "turned a request away");
            let answer = HttpResponse::Forbidden().json(serde_json::json!({ "error": reason }));
            Ok(request.into_response(answer).map_into_boxed_body())
        }
    }
}

/// Tells browsers what the pages that may connect may do.
pub(crate) fn cors(door: &web::Data<Door>) -> Cors {
    let door = door.clone();
    Cors::default()
        .allowed_origin_fn(move |origin, _| {
            let origin = origin.to_str().unwrap_or_default();
            origin_allowed(origin, &door.server.allowed_origins)
        })
        .allowed_methods(["POST", "GET", "DELETE"])
        .allow_any_header()
        .expose_headers([SESSION, REQUEST_ID, "www-authenticate", "retry-after"])
        .max_age(600)
}

fn judge(request: &ServiceRequest, door: &Door) -> Result<(), String> {
    let value = |name: header::HeaderName| {
        let mut values = request.headers().get_all(name);
        let first = values.next().map(|value| value.to_str().unwrap_or_default().to_owned());
        (first, values.next().is_some())
    };
    let (host, many_hosts) = value(header::HOST);
    let host = host.or_else(|| request.uri().authority().map(ToString::to_string));
    match host {
        Some(host) if !many_hosts && host_allowed(&host, &door.server.allowed_hosts) => {}
        Some(host) => {
            return Err(format!("host `{host}` is not served; add it to server.allowed_hosts"));
        }
        None => return Err("the Host header is missing".to_owned()),
    }
    match value(header::ORIGIN) {
        (None, _) => Ok(()),
        (Some(origin), false) if origin_allowed(&origin, &door.server.allowed_origins) => Ok(()),
        (Some(origin), _) => {
            Err(format!("origin `{origin}` may not connect; add it to server.allowed_origins"))
        }
    }
}

fn host_allowed(host: &str, allowed: &[String]) -> bool {
    let Ok(authority) = host.parse::<actix_web::http::uri::Authority>() else { return false };
    is_this_machine(authority.host())
        || allowed.iter().any(|name| name == host || name == authority.host())
}

fn origin_allowed(origin: &str, allowed: &[String]) -> bool {
    if allowed.iter().any(|name| name.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    is_web && uri.host().is_some_and(is_this_machine)
}

fn is_this_machine(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_what_is_configured_is_served() {
        let allowed = ["box.example".to_owned()];
        for host in ["localhost", "LOCALHOST:7744", "127.0.0.1:1", "[::1]:7744", "box.example:80"] {
            assert!(host_allowed(host, &allowed), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil", "", "a b", "user@"]
        {
            assert!(!host_allowed(host, &allowed), "{host}");
        }
    }

    #[test]
    fn only_pages_of_this_machine_and_configured_ones_may_connect() {
        let allowed = ["https://app.example".to_owned()];
        for origin in
            ["http://localhost:3000", "https://127.0.0.1", "http://[::1]", "https://app.example"]
        {
            assert!(origin_allowed(origin, &allowed), "{origin}");
        }
        for origin in
            ["null", "http://evil.example", "https://app.example.evil", "file://localhost", ""]
        {
            assert!(!origin_allowed(origin, &allowed), "{origin}");
        }
    }
}
