//! Metadata of the authorization server (RFC 8414).

use actix_web::{HttpResponse, web};
use serde_json::json;

use super::super::ServerState;

/// Paths at which clients look for the metadata: at the root, and, in clients that know no metadata
/// of resources, after the path of the MCP endpoint.
pub(super) const METADATA_PATHS: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"];

/// Returns the metadata.
pub(super) async fn server_metadata(server_state: web::Data<ServerState>) -> HttpResponse {
    match &server_state.oauth {
        Some(oauth) => HttpResponse::Ok().json(oauth.metadata()),
        None => HttpResponse::NotFound()
            .json(json!({ "error": "this server is no authorization server" })),
    }
}
