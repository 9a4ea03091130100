//! What a client is told about how to get a token (RFC 9728).

use actix_web::{HttpResponse, web};
use serde_json::json;

use super::Door;
use vademecum_core::auth::Right;

/// Where clients look first.
pub(crate) const PATH: &str = "/.well-known/oauth-protected-resource";
/// Where they look for a resource that is not at the root.
pub(crate) const PATH_AND_REST: &str = "/.well-known/oauth-protected-resource/{rest:.*}";

/// Describes this server as a protected resource.
pub(crate) async fn metadata(
    rest: Option<web::Path<String>>,
    door: web::Data<Door>,
) -> HttpResponse {
    let asked = rest.map(|rest| format!("/{}", rest.into_inner()));
    let described = door.auth.resource.as_ref().filter(|resource| {
        asked.as_deref().is_none_or(|path| path == "/mcp" || path == resource.path())
    });
    match described {
        Some(resource) if door.authenticator.asks() => HttpResponse::Ok().json(json!({
            "resource": resource.as_str(),
            "resource_name": "Vademecum",
            "authorization_servers": door.auth.authorization_servers(),
            "scopes_supported": Right::ALL.map(Right::as_str),
            "bearer_methods_supported": ["header"],
        })),
        _ => HttpResponse::NotFound().json(json!({
            "error": "no authorization server is configured; an API key of this server may do"
        })),
    }
}
