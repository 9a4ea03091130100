//! The account page: what a user has allowed, and its revocation.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use vademecum_accounts::AccountError;
use vademecum_core::{audit::AuditOutcome, auth::KeyId};
use vademecum_oauth::{Endpoint, ServerError};

use super::{
    authorize::{foreign_form, not_served},
    browser::{AuditEvent, Browser},
    reply::{page_response, redirect, run_blocking},
};
use crate::templates::{FormContext, Section, account_page};

/// Shows the valid grants of the user.
pub(super) async fn show_account(request: HttpRequest) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let session = match browser.find_session().await {
        Ok(Some(session)) => session,
        Ok(None) => return redirect(Endpoint::Login.path()),
        Err(failure) => return failure.page(),
    };
    let (oauth, user) = (Arc::clone(&browser.oauth), session.user.clone());
    match run_blocking(move || oauth.list_grants(Some(&user))).await {
        Ok(mut grants) => {
            grants.retain(vademecum_oauth::Grant::is_valid);
            let context = FormContext { csrf: session.csrf_token(), request: String::new() };
            let has_passwords = browser.oauth.has_passwords();
            let page = account_page(&context, &session.user, &grants, None, &[], has_passwords);
            page_response(StatusCode::OK, &page, "")
        }
        Err(failure) => failure.page(),
    }
}

/// Revokes a grant of the user.
pub(super) async fn revoke_grant(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let session = match browser.find_session().await {
        Ok(Some(session)) => session,
        Ok(None) => return redirect(Endpoint::Login.path()),
        Err(failure) => return failure.page(),
    };
    let Ok(key) = form.get("grant").parse::<KeyId>() else { return foreign_form() };
    let (oauth, user, grant) = (Arc::clone(&browser.oauth), session.user.clone(), key.clone());
    let revoked = run_blocking(move || match oauth.revoke_grant(&grant, Some(&user)) {
        Ok(grant) => Ok(Some(grant)),
        // It ended meanwhile, or belongs to another user.
        Err(ServerError::Accounts(AccountError::UnknownGrant(_))) => Ok(None),
        Err(error) => Err(error),
    });
    match revoked.await {
        Ok(revoked) => {
            if let Some(grant) = revoked {
                browser.record(AuditEvent {
                    user: Some(&session.user),
                    key: Some(&key),
                    client: &grant.key.name,
                    ..AuditEvent::new("oauth.revoke", AuditOutcome::Ok)
                });
            }
            let has_pages = browser.state().pages.is_some();
            redirect(if has_pages { Section::Clients.path() } else { Endpoint::Account.path() })
        }
        Err(failure) => failure.page(),
    }
}

/// Ends the login of the browser.
pub(super) async fn log_out(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    if browser.read_form(&request, body).await.is_none() {
        return foreign_form();
    }
    let (oauth, cookie) = (Arc::clone(&browser.oauth), browser.cookie().to_owned());
    if let Err(failure) = run_blocking(move || oauth.log_out(&cookie)).await {
        return failure.page();
    }
    let mut response = redirect(Endpoint::Login.path());
    browser.forget_session(&mut response);
    response
}
