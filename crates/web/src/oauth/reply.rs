//! Responses of the authorization server: pages, redirects and JSON.

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{StatusCode, header},
    web,
};
use serde_json::json;
use vademecum_oauth::{OAuthError, ServerError};

use crate::templates::{Page, message_page};

/// Returns a page. `form_target` is the source to which its forms may lead besides this server.
pub(crate) fn page_response(status: StatusCode, page: &Page, form_target: &str) -> HttpResponse {
    let mut response = HttpResponse::build(status);
    response
        .insert_header((header::CONTENT_SECURITY_POLICY, content_policy(form_target)))
        .insert_header((header::X_FRAME_OPTIONS, "DENY"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"))
        // With a stricter policy, browsers do not say where a form comes from.
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .insert_header((header::CACHE_CONTROL, "no-store"));
    // A program that opened the page of its login in a window learns of the end through that window.
    if form_target.is_empty() {
        response.insert_header((header::CROSS_ORIGIN_OPENER_POLICY, "same-origin"));
    }
    response.content_type("text/html; charset=utf-8").body(page.render())
}

/// Returns the policy of a page: the script and the style sheet of this server, no frames, nothing
/// from elsewhere.
fn content_policy(form_target: &str) -> String {
    let separator = if form_target.is_empty() { "" } else { " " };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'{separator}{form_target}; frame-ancestors 'none'; \
         base-uri 'none'; require-trusted-types-for 'script'; trusted-types vademecum"
    )
}

/// Returns a page with a problem that the user can do something about.
pub(crate) fn problem_page(status: StatusCode, title: &str, text: &str) -> HttpResponse {
    page_response(status, &message_page(title, text), "")
}

/// Sends the browser to another address, with a GET request.
pub(crate) fn redirect(address: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, address))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .finish()
}

/// Returns the error of an endpoint for clients (RFC 6749, section 5.2).
pub(super) fn oauth_error(status: StatusCode, error: &OAuthError) -> HttpResponse {
    json_builder(status)
        .json(json!({ "error": error.code, "error_description": error.description }))
}

/// Returns a builder for JSON that is not kept.
pub(super) fn json_builder(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::PRAGMA, "no-cache"));
    response
}

/// Runs a call of the authorization server on the blocking pool.
pub(crate) async fn run_blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, ServerError> + Send + 'static,
) -> Result<T, ServerFailure> {
    match web::block(call).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(log_failure(&error)),
        Err(error) => {
            tracing::error!(%error, "a call of the authorization server was aborted");
            Err(ServerFailure)
        }
    }
}

/// Failure that was logged, and of which callers learn nothing more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerFailure;

/// Logs a failure, of which the caller learns nothing more.
pub(super) fn log_failure(error: &ServerError) -> ServerFailure {
    tracing::error!(error = ?error, "the authorization server failed");
    ServerFailure
}

impl ServerFailure {
    /// Returns the page for a user.
    pub(crate) fn page(self) -> HttpResponse {
        let Self = self;
        problem_page(
            StatusCode::INTERNAL_SERVER_ERROR,
            "That did not work",
            "The server has a problem. Try again; its log says more.",
        )
    }

    /// Returns the error for a client.
    pub(super) fn json(self) -> HttpResponse {
        let Self = self;
        json_builder(StatusCode::INTERNAL_SERVER_ERROR)
            .json(json!({ "error": "server_error", "error_description": "see the server's log" }))
    }
}
