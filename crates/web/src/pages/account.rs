//! The clients and keys of the user.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use vademecum_accounts::{AccountError, KeyRecord};
use vademecum_core::{
    audit::AuditOutcome,
    auth::{KeyId, UserId},
};
use vademecum_model::Timestamp;

use super::{
    super::oauth::{AuditEvent, foreign_form, redirect, run_blocking},
    PageServices,
    page_request::{PageProblem, PageRequest},
};
use crate::templates::{Page, Section, account_page};

/// Shows the clients that the user has admitted, and the user's keys.
pub(super) async fn show_clients(request: HttpRequest) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let shown = build_clients_page(&page).await;
    page.respond(Section::Clients, shown)
}

async fn build_clients_page(page: &PageRequest) -> Result<Page, PageProblem> {
    let (oauth, user) = (Arc::clone(&page.browser.oauth), page.login.user.clone());
    let mut grants = run_blocking(move || oauth.list_grants(Some(&user))).await?;
    grants.retain(vademecum_oauth::Grant::is_valid);
    let keys = list_keys(&page.services, &page.login.user).await?;
    let (oauth, login) = (Arc::clone(&page.browser.oauth), page.login.clone());
    let browsers = run_blocking(move || oauth.list_sessions(&login)).await?;
    let (context, user) = (page.form_context(), &page.login.user);
    let has_passwords = page.browser.oauth.has_passwords();
    Ok(account_page(&context, user, &grants, Some(&keys), &browsers, has_passwords))
}

/// Returns the valid keys of a user.
async fn list_keys(services: &PageServices, user: &UserId) -> Result<Vec<KeyRecord>, PageProblem> {
    let accounts = Arc::clone(&services.accounts);
    let keys = web::block(move || accounts.list_keys()).await;
    let mut keys = keys
        .map_err(|error| PageProblem::internal(&error))?
        .map_err(|error| PageProblem::internal(&error))?;
    let now = Timestamp::now();
    keys.retain(|key| {
        let is_key = key.client_id.is_none();
        is_key && key.user == *user && key.revoked_at.is_none() && !key.has_expired(now)
    });
    Ok(keys)
}

/// Revokes a key of the user.
pub(super) async fn revoke_key(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let Some(form) = page.browser.read_form(&request, body).await else { return foreign_form() };
    let Ok(id) = form.get("key").parse::<KeyId>() else { return foreign_form() };
    let keys = match list_keys(&page.services, &page.login.user).await {
        Ok(keys) => keys,
        Err(problem) => return page.respond(Section::Clients, Err(problem)),
    };
    // A key that ended meanwhile, or that belongs to another user, is left alone.
    if let Some(key) = keys.into_iter().find(|key| key.id == id) {
        let (accounts, revoked) = (Arc::clone(&page.services.accounts), id.clone());
        match web::block(move || accounts.revoke_key(&revoked)).await {
            Ok(Ok(()) | Err(AccountError::UnknownKey(_))) => page.browser.record(AuditEvent {
                user: Some(&page.login.user),
                key: Some(&id),
                client: &key.name,
                ..AuditEvent::new("key.revoke", AuditOutcome::Ok)
            }),
            Ok(Err(error)) => {
                return page.respond(Section::Clients, Err(PageProblem::internal(&error)));
            }
            Err(error) => {
                return page.respond(Section::Clients, Err(PageProblem::internal(&error)));
            }
        }
    }
    redirect(Section::Clients.path())
}

/// Logs a browser of the user out.
pub(super) async fn end_login(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let page = match PageRequest::open(&request).await {
        Ok(page) => page,
        Err(answer) => return answer,
    };
    let Some(form) = page.browser.read_form(&request, body).await else { return foreign_form() };
    let (oauth, user) = (Arc::clone(&page.browser.oauth), page.login.user.clone());
    let id = form.get("browser").to_owned();
    // A login that ended meanwhile, or that belongs to another user, is left alone.
    match run_blocking(move || oauth.end_session(&user, &id)).await {
        Ok(is_ended) => {
            if is_ended {
                page.browser.record(AuditEvent {
                    user: Some(&page.login.user),
                    ..AuditEvent::new("logout", AuditOutcome::Ok)
                });
            }
            redirect(Section::Clients.path())
        }
        Err(failure) => page.respond(Section::Clients, Err(failure.into())),
    }
}
