//! OAuth protected resource metadata (RFC 9728).

use actix_web::{HttpResponse, web};
use serde_json::json;
use vademecum_core::auth::Right;

use super::ServerState;

/// Metadata path of a resource at the root.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// Metadata path of a resource that is not at the root.
pub(crate) const METADATA_PATH_WITH_REST: &str = "/.well-known/oauth-protected-resource/{rest:.*}";

/// Returns the metadata of this server as a protected resource.
pub(crate) async fn resource_metadata(
    rest: Option<web::Path<String>>,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let requested_path = rest.map(|rest| format!("/{}", rest.into_inner()));
    let described = server_state.auth.resource.as_ref().filter(|resource| {
        requested_path.as_deref().is_none_or(|path| path == "/mcp" || path == resource.path())
    });
    match described {
        Some(resource) if server_state.authenticator.requires_credentials() => HttpResponse::Ok()
            .json(json!({
                "resource": resource.as_str(),
                "resource_name": "Vademecum",
                "authorization_servers": server_state
                    .auth
                    .authorization_servers(server_state.server.public_url.as_ref()),
                "scopes_supported": Right::ALL.map(Right::as_str),
                "bearer_methods_supported": ["header"],
            })),
        _ => HttpResponse::NotFound().json(json!({
            "error": "no authorization server is configured; use an API key of this server"
        })),
    }
}
