//! Login through the outside `OpenID` Connect provider.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use vademecum_accounts::AuthRejection;
use vademecum_core::{audit::AuditOutcome, auth::UserId};
use vademecum_oauth::{LoginError, LoginSession, OidcLogin, ServerError};

use super::{
    authorize::not_served,
    browser::{AuditEvent, Browser},
    form::PageForm,
    login::{enter, record_refusal, show_login},
    reply::{ServerFailure, log_failure, problem_page, redirect, run_blocking},
};

/// Sends the browser to the provider.
pub(super) async fn begin_provider_login(request: HttpRequest) -> HttpResponse {
    let Some((browser, oidc)) = open(&request) else { return not_served() };
    let fields = PageForm::parse(request.query_string().as_bytes());
    let query = fields.get("request").to_owned();
    match run_blocking(move || oidc.begin(&query)).await {
        Ok(begun) => {
            let mut response = redirect(&begun.url);
            browser.keep_provider_cookie(&mut response, &begun.cookie);
            response
        }
        Err(failure) => failure.page(),
    }
}

/// Takes the answer of the provider.
pub(super) async fn finish_provider_login(request: HttpRequest) -> HttpResponse {
    let Some((browser, oidc)) = open(&request) else { return not_served() };
    // Each answer costs a request to the provider.
    if let Some(refusal) = browser.oauth.find_wait(browser.address()) {
        record_refusal(&browser, &refusal, None);
        let shown = show_login(&browser, "", Some(&refusal), "");
        return shown.unwrap_or_else(ServerFailure::page);
    }
    let finished = oidc.finish(request.query_string(), browser.provider_cookie()).await;
    let (claims, query) = match finished {
        Ok(Ok(finished)) => finished,
        Ok(Err(error)) => return refused(&browser, "invalid", &error.description),
        Err(ServerError::IdToken(rejection)) => return reject(&browser, &rejection),
        Err(error) => {
            browser.oauth.fail(browser.address(), LoginError::Wrong);
            return log_failure(&error).page();
        }
    };
    let user = match claims.user(oidc.settings()) {
        Ok(user) => user,
        Err(rejection) => return reject(&browser, &rejection),
    };
    let mut response = match log_in_user(&browser, &oidc, user).await {
        Ok(Ok(session)) => enter(&browser, &session, &query),
        Ok(Err(refusal)) => {
            record_refusal(&browser, &refusal, None);
            let shown = show_login(&browser, &query, Some(&refusal), "");
            shown.unwrap_or_else(ServerFailure::page)
        }
        Err(failure) => failure.page(),
    };
    browser.keep_provider_cookie(&mut response, "");
    response
}

fn open(request: &HttpRequest) -> Option<(Browser, Arc<OidcLogin>)> {
    let browser = Browser::of(request)?;
    let oidc = Arc::clone(browser.oauth.oidc()?);
    Some((browser, oidc))
}

async fn log_in_user(
    browser: &Browser,
    oidc: &Arc<OidcLogin>,
    user: UserId,
) -> Result<Result<LoginSession, LoginError>, ServerFailure> {
    let oauth = Arc::clone(&browser.oauth);
    let adds_users = oidc.settings().add_users;
    run_blocking(move || {
        if adds_users {
            oauth.add_provider_user(&user)?;
        }
        oauth.log_in_as(&user)
    })
    .await
}

fn reject(browser: &Browser, rejection: &AuthRejection) -> HttpResponse {
    let text = match rejection {
        AuthRejection::NotAdmitted => "Your account at the provider is not admitted here.",
        AuthRejection::NoUser => "The provider names no user of this server.",
        _ => "The answer of the provider is not valid.",
    };
    refused(browser, rejection.code(), text)
}

fn refused(browser: &Browser, reason: &'static str, text: &str) -> HttpResponse {
    browser.oauth.fail(browser.address(), LoginError::Wrong);
    let event = AuditEvent::new("login", AuditOutcome::Denied);
    browser.record(AuditEvent { reason: Some(reason), ..event });
    let mut response = problem_page(StatusCode::FORBIDDEN, "You are not logged in", text);
    browser.keep_provider_cookie(&mut response, "");
    response
}
