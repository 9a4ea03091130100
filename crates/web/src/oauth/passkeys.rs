//! Logins with passkeys, and the page on which users register and remove them.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use secrecy::SecretString;
use vademecum_core::audit::AuditOutcome;
use vademecum_oauth::{
    Endpoint, LoginOrigin, LoginSession, PasskeyAnswer, PasskeyError, SecondFactorStatus,
};

use super::{
    authorize::{foreign_form, not_served},
    browser::{AuditEvent, Browser},
    form::PageForm,
    login::{add_wait, enter, refuse, status_of},
    reply::{ServerFailure, page_response, redirect, run_blocking},
};
use crate::templates::{FormContext, PasskeysPage, passkeys_page};

/// Reads what the script has filled in.
fn read_answer(form: &PageForm) -> PasskeyAnswer<'_> {
    PasskeyAnswer {
        sealed: form.get("challenge"),
        id: form.get("credential"),
        client_data: form.get("client_data"),
        authenticator_data: form.get("authenticator_data"),
        signature: form.get("signature"),
    }
}

/// Logs in with a passkey.
pub(super) async fn log_in(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let (oauth, fields, address) = (Arc::clone(&browser.oauth), form.clone(), browser.address());
    let (allowed, mark) = (browser.check_account(), browser.browser_mark().to_owned());
    let done = run_blocking(move || match allowed {
        Ok(()) => {
            let form_token = fields.get("csrf");
            let origin = LoginOrigin { address, browser_mark: &mark, form_token };
            oauth.log_in_with_passkey(&read_answer(&fields), &origin)
        }
        Err(refusal) => Ok(Err(refusal)),
    });
    let done = match done.await {
        Ok(Ok(session)) => return enter(&browser, &session, form.get("request")),
        Ok(Err(refusal)) => refuse(&browser, &form, &refusal),
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

/// Shows the passkeys of the user.
pub(super) async fn show_passkeys(request: HttpRequest) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let shown = match browser.find_session().await {
        Ok(Some(session)) => show_state(&browser, &session, None).await,
        Ok(None) => Ok(redirect(Endpoint::Login.path())),
        Err(failure) => Err(failure),
    };
    shown.unwrap_or_else(ServerFailure::page)
}

async fn show_state(
    browser: &Browser,
    session: &LoginSession,
    problem: Option<&PasskeyError>,
) -> Result<HttpResponse, ServerFailure> {
    let (oauth, login) = (Arc::clone(&browser.oauth), session.clone());
    let state = run_blocking(move || {
        let status = oauth.second_factor_status(&login.user)?;
        let has_password = status != SecondFactorStatus::NoPassword;
        let offer = if has_password && oauth.has_passkeys() {
            Some(oauth.passkey_offer(&login)?)
        } else {
            None
        };
        Ok((oauth.list_passkeys(&login.user)?, offer, status))
    });
    let (passkeys, offer, factor) = state.await?;
    let page = passkeys_page(&PasskeysPage {
        context: FormContext { csrf: session.csrf_token(), request: String::new() },
        user: session.user.clone(),
        passkeys,
        offer,
        has_second_factor: matches!(factor, SecondFactorStatus::On { .. }),
        problem: problem.map(ToString::to_string),
    });
    let (status, refusal) = match problem {
        None => (StatusCode::OK, None),
        Some(PasskeyError::Login(refusal)) => (status_of(Some(refusal)), Some(refusal)),
        Some(_) => (StatusCode::FORBIDDEN, None),
    };
    let mut response = page_response(status, &page, "");
    add_wait(&mut response, refusal);
    Ok(response)
}

/// Registers or removes a passkey of the user.
pub(super) async fn change_passkeys(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let done = match (browser.find_session().await, form.get("change")) {
        (Ok(Some(session)), "add") => add_passkey(&browser, &session, &form).await,
        (Ok(Some(session)), "remove") => remove_passkey(&browser, &session, &form).await,
        (Ok(Some(_)), _) => Ok(foreign_form()),
        (Ok(None), _) => Ok(redirect(Endpoint::Login.path())),
        (Err(failure), _) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

async fn add_passkey(
    browser: &Browser,
    session: &LoginSession,
    form: &PageForm,
) -> Result<HttpResponse, ServerFailure> {
    let (oauth, login, fields) = (Arc::clone(&browser.oauth), session.clone(), form.clone());
    let (address, mark) = (browser.address(), browser.browser_mark().to_owned());
    let added = run_blocking(move || {
        let password = SecretString::from(fields.get("password"));
        let form_token = fields.get("csrf");
        let origin = LoginOrigin { address, browser_mark: &mark, form_token };
        let (name, code) = (fields.get("title"), fields.get("code"));
        oauth.add_passkey(&login, name, &password, code, &read_answer(&fields), &origin)
    });
    let added = added.await?;
    record(browser, session, "passkey.add", added.is_ok());
    match added {
        Ok(()) => Ok(redirect(Endpoint::Passkeys.path())),
        Err(problem) => show_state(browser, session, Some(&problem)).await,
    }
}

async fn remove_passkey(
    browser: &Browser,
    session: &LoginSession,
    form: &PageForm,
) -> Result<HttpResponse, ServerFailure> {
    let (oauth, user) = (Arc::clone(&browser.oauth), session.user.clone());
    let id = form.get("passkey").to_owned();
    let is_removed = run_blocking(move || oauth.remove_passkey(&user, &id)).await?;
    record(browser, session, "passkey.remove", is_removed);
    Ok(redirect(Endpoint::Passkeys.path()))
}

fn record(browser: &Browser, session: &LoginSession, method: &'static str, is_done: bool) {
    let outcome = if is_done { AuditOutcome::Ok } else { AuditOutcome::Denied };
    browser.record(AuditEvent { user: Some(&session.user), ..AuditEvent::new(method, outcome) });
}
