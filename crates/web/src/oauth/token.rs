//! Endpoints for clients: tokens, revocation and registration.

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use serde_json::json;
use vademecum_core::audit::AuditOutcome;
use vademecum_oauth::{ExchangeError, RedirectUri, RegistrationError, TokenForm};

use super::{
    super::{ServerState, request_body::read_body},
    authorize::not_served,
    browser::{AuditEvent, Browser, MAX_FORM_BYTES},
    reply::{json_builder, log_failure, oauth_error, run_blocking},
};

/// Maximum size of a registration, in bytes.
const MAX_REGISTRATION_BYTES: usize = 16 << 10;

/// Reads the form of a request about tokens, or returns the error response.
async fn read_form(
    request: &HttpRequest,
    body: web::Payload,
    server_state: &ServerState,
) -> Result<(Browser, TokenForm), HttpResponse> {
    let browser = Browser::of_authorization(request).ok_or_else(not_served)?;
    let body = read_body(request, body, server_state, MAX_FORM_BYTES).await?;
    let form = TokenForm::parse(&body.bytes)
        .map_err(|error| oauth_error(StatusCode::BAD_REQUEST, &error))?;
    Ok((browser, form))
}

/// Exchanges a code or a refresh token for an access token.
pub(super) async fn issue_token(
    request: HttpRequest,
    body: web::Payload,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let (browser, form) = match read_form(&request, body, &server_state).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let is_new = form.is_code_exchange();
    let oauth = Arc::clone(&browser.oauth);
    let (error, revoked) = match run_blocking(move || Ok(oauth.exchange(&form))).await {
        Ok(Ok(issued)) => {
            if is_new {
                browser.record(AuditEvent {
                    user: Some(&issued.user),
                    key: Some(issued.access.key()),
                    client: &issued.client_name,
                    ..AuditEvent::new("oauth.grant", AuditOutcome::Ok)
                });
            }
            return json_builder(StatusCode::OK).json(json!({
                "access_token": issued.access.expose(),
                "token_type": "Bearer",
                "expires_in": issued.lifetime.as_secs(),
                "refresh_token": issued.refresh.expose(),
                "scope": issued.rights.to_string(),
            }));
        }
        Ok(Err(ExchangeError::Refused(error))) => (error, None),
        Ok(Err(ExchangeError::UsedTwice { error, revoked })) => (error, revoked),
        Ok(Err(ExchangeError::Server(error))) => return log_failure(&error).json(),
        Err(failure) => return failure.json(),
    };
    if let Some(key) = &revoked {
        let event = AuditEvent::new("oauth.reuse", AuditOutcome::Denied);
        browser.record(AuditEvent { key: Some(key), reason: Some("reused"), ..event });
    }
    let status = match error.code {
        "invalid_client" => StatusCode::UNAUTHORIZED,
        _ => StatusCode::BAD_REQUEST,
    };
    oauth_error(status, &error)
}

/// Revokes a token. An unknown token is no error (RFC 7009, section 2.2).
pub(super) async fn revoke_token(
    request: HttpRequest,
    body: web::Payload,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let (browser, form) = match read_form(&request, body, &server_state).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let oauth = Arc::clone(&browser.oauth);
    match run_blocking(move || oauth.revoke_token(&form)).await {
        Ok(revoked) => {
            if let Some(key) = &revoked {
                let event = AuditEvent::new("oauth.revoke", AuditOutcome::Ok);
                browser.record(AuditEvent { key: Some(key), ..event });
            }
            json_builder(StatusCode::OK).finish()
        }
        Err(failure) => failure.json(),
    }
}

/// Registers a client (RFC 7591). Registrations from one address are limited.
pub(super) async fn register_client(
    request: HttpRequest,
    body: web::Payload,
    server_state: web::Data<ServerState>,
) -> HttpResponse {
    let Some(browser) = Browser::of_authorization(&request) else { return not_served() };
    let body = match read_body(&request, body, &server_state, MAX_REGISTRATION_BYTES).await {
        Ok(body) => body.bytes,
        Err(refused) => return refused,
    };
    let (oauth, address) = (Arc::clone(&browser.oauth), browser.address());
    let client = match run_blocking(move || oauth.register(&body, address)).await {
        Ok(Ok(client)) => client,
        Ok(Err(RegistrationError::Refused(error))) => {
            return oauth_error(StatusCode::BAD_REQUEST, &error);
        }
        Ok(Err(RegistrationError::TooMany(wait))) => {
            let event = AuditEvent::new("oauth.register", AuditOutcome::Limited);
            browser.record(event);
            return json_builder(StatusCode::TOO_MANY_REQUESTS)
                .insert_header((header::RETRY_AFTER, (wait.as_secs() + 1).to_string()))
                .json(json!({
                    "error": "temporarily_unavailable",
                    "error_description": "too many registrations: try again later",
                }));
        }
        Err(failure) => return failure.json(),
    };
    let event = AuditEvent::new("oauth.register", AuditOutcome::Ok);
    browser.record(AuditEvent { client: client.display_name(), ..event });
    let uris: Vec<&str> = client.redirect_uris.iter().map(RedirectUri::as_str).collect();
    json_builder(StatusCode::CREATED).json(json!({
        "client_id": client.id,
        "client_name": client.name,
        "redirect_uris": uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }))
}
