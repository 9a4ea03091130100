//! What those who look after the server ask: whether it lives, whether it is ready,
//! what it does.

use actix_web::{HttpMessage, HttpRequest, HttpResponse, http::header, web};

use super::{
    Door,
    credentials::{self, Admitted},
};
use vademecum_core::auth::Right;
use vademecum_mcp::Status;

/// What Prometheus reads: its text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All figures, for whoever looks after the server.
pub(crate) async fn metrics(request: HttpRequest, door: web::Data<Door>) -> HttpResponse {
    let admitted = request.extensions().get::<Admitted>().cloned();
    if !admitted.is_some_and(|admitted| admitted.principal().may(Right::Admin)) {
        let mut refusal = HttpResponse::Forbidden();
        credentials::explain(&mut refusal, Status::Forbidden(Right::Admin), &door.auth);
        let problem = "this needs the scope `admin`, which this key or token has not";
        return refusal.json(serde_json::json!({ "error": problem }));
    }
    let monitor = door.monitor.clone();
    match web::block(move || monitor.scrape()).await {
        Ok(Ok(text)) => HttpResponse::Ok()
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .content_type(FORMAT)
            .body(text),
        Ok(Err(error)) => {
            tracing::error!(%error, "figures could not be written");
            HttpResponse::InternalServerError().finish()
        }
        Err(error) => {
            tracing::error!(%error, "the look at the figures broke off");
            HttpResponse::InternalServerError().finish()
        }
    }
}

/// That the process runs.
pub(crate) async fn live() -> HttpResponse {
    said(HttpResponse::Ok(), "live")
}

/// Whether requests can be answered; if not, why, in a word.
pub(crate) async fn ready(door: web::Data<Door>) -> HttpResponse {
    if door.service.is_closing() {
        return said(HttpResponse::ServiceUnavailable(), "stopping");
    }
    let monitor = door.monitor.clone();
    match web::block(move || monitor.ailment()).await {
        Ok(None) => said(HttpResponse::Ok(), "ready"),
        Ok(Some(ailment)) => {
            tracing::warn!(ailment, "the server is not ready");
            said(HttpResponse::ServiceUnavailable(), ailment)
        }
        Err(error) => {
            tracing::error!(%error, "the look whether the server is ready broke off");
            said(HttpResponse::ServiceUnavailable(), "unknown")
        }
    }
}

fn said(mut response: actix_web::HttpResponseBuilder, word: &'static str) -> HttpResponse {
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/plain; charset=utf-8")
        .body(word)
}
