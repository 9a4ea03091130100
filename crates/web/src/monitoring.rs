//! Monitoring endpoints: liveness, readiness and metrics.

use actix_web::{HttpMessage, HttpRequest, HttpResponse, http::header, web};
use vademecum_core::auth::Right;
use vademecum_mcp::ReplyStatus;

use super::{
    ServerState,
    credentials::{self, AuthenticatedCaller},
};

/// Content type of the Prometheus text format.
const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns all metrics. Requires the right `admin`.
pub(crate) async fn metrics(
    request: HttpRequest,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let admitted = request.extensions().get::<AuthenticatedCaller>().cloned();
    if !admitted.is_some_and(|admitted| admitted.principal().has_right(Right::Admin)) {
        let mut refusal = HttpResponse::Forbidden();
        credentials::add_status_headers(
            &mut refusal,
            ReplyStatus::Forbidden(Right::Admin),
            &server_state.auth,
        );
        let problem = "this needs the scope `admin`, which this key or token does not have";
        return refusal.json(serde_json::json!({ "error": problem }));
    }
    let monitor = server_state.monitor.clone();
    match web::block(move || monitor.scrape()).await {
        Ok(Ok(text)) => HttpResponse::Ok()
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .content_type(PROMETHEUS_CONTENT_TYPE)
            .body(text),
        Ok(Err(error)) => {
            tracing::error!(%error, "metrics could not be encoded");
            HttpResponse::InternalServerError().finish()
        }
        Err(error) => {
            tracing::error!(%error, "reading metrics was interrupted");
            HttpResponse::InternalServerError().finish()
        }
    }
}

/// Liveness: always 200 while the process runs.
pub(crate) async fn live() -> HttpResponse {
    text_response(HttpResponse::Ok(), "live")
}

/// Readiness: 200 if requests can be served, otherwise 503 with a one-word reason.
pub(crate) async fn ready(server_state: web::Data<ServerState>) -> HttpResponse {
    if server_state.service.is_shutting_down() {
        return text_response(HttpResponse::ServiceUnavailable(), "stopping");
    }
    let monitor = server_state.monitor.clone();
    match web::block(move || monitor.not_ready_reason()).await {
        Ok(None) => text_response(HttpResponse::Ok(), "ready"),
        Ok(Some(ailment)) => {
            tracing::warn!(ailment, "the server is not ready");
            text_response(HttpResponse::ServiceUnavailable(), ailment)
        }
        Err(error) => {
            tracing::error!(%error, "the readiness check was interrupted");
            text_response(HttpResponse::ServiceUnavailable(), "unknown")
        }
    }
}

fn text_response(mut response: actix_web::HttpResponseBuilder, word: &'static str) -> HttpResponse {
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/plain; charset=utf-8")
        .body(word)
}
