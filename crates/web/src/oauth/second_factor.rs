//! The page on which users set up and remove their second factor.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use secrecy::SecretString;
use vademecum_core::audit::AuditOutcome;
use vademecum_oauth::{Endpoint, LoginOrigin, LoginSession, SecondFactorError, SecondFactorStatus};

use super::{
    authorize::{foreign_form, not_served},
    browser::{AuditEvent, Browser},
    form::PageForm,
    login::{add_wait, status_of},
    reply::{ServerFailure, page_response, redirect, run_blocking},
};
use crate::templates::{FormContext, SecondFactorState, recovery_codes_page, second_factor_page};

/// Change that a user asks for.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Put the secret that was shown into use.
    Add,
    /// Replace the recovery codes.
    Renew,
    /// Remove the second factor.
    Remove,
}

impl Change {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "add" => Some(Self::Add),
            "renew" => Some(Self::Renew),
            "remove" => Some(Self::Remove),
            _ => None,
        }
    }

    /// Returns the name in the audit log.
    fn method(self) -> &'static str {
        match self {
            Self::Add => "second_factor.add",
            Self::Renew => "second_factor.renew",
            Self::Remove => "second_factor.remove",
        }
    }
}

/// Shows the second factor of the user, or offers one.
pub(super) async fn show_second_factor(request: HttpRequest) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    match browser.find_session().await {
        Ok(Some(session)) => show_state(&browser, &session, "", None).await,
        Ok(None) => Ok(redirect(Endpoint::Login.path())),
        Err(failure) => Err(failure),
    }
    .unwrap_or_else(ServerFailure::page)
}

/// Shows the page. `setup` is the secret that was shown before; a new one is offered without it.
async fn show_state(
    browser: &Browser,
    session: &LoginSession,
    setup: &str,
    problem: Option<&SecondFactorError>,
) -> Result<HttpResponse, ServerFailure> {
    let (oauth, user, setup) = (Arc::clone(&browser.oauth), session.user.clone(), setup.to_owned());
    let state = run_blocking(move || {
        Ok(match oauth.second_factor_status(&user)? {
            SecondFactorStatus::NoPassword => SecondFactorState::NoPassword,
            SecondFactorStatus::On { since, recovery_codes } => {
                SecondFactorState::On { since, recovery_codes }
            }
            SecondFactorStatus::Off => {
                SecondFactorState::Off(match oauth.reopen_second_factor(&user, &setup) {
                    Some(setup) => setup,
                    None => oauth.begin_second_factor(&user)?,
                })
            }
        })
    });
    let state = state.await?;
    let context = FormContext { csrf: session.csrf_token(), request: String::new() };
    let message = problem.map(ToString::to_string);
    let page = second_factor_page(&context, &state, message.as_deref());
    let (status, refusal) = match problem {
        None => (StatusCode::OK, None),
        Some(SecondFactorError::Login(refusal)) => (status_of(Some(refusal)), Some(refusal)),
        Some(_) => (StatusCode::FORBIDDEN, None),
    };
    let mut response = page_response(status, &page, "");
    add_wait(&mut response, refusal);
    Ok(response)
}

/// Sets up, renews or removes the second factor of the user.
pub(super) async fn change_second_factor(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let Some(change) = Change::parse(form.get("change")) else { return foreign_form() };
    let done = match browser.find_session().await {
        Ok(Some(session)) => make_change(&browser, &session, &form, change).await,
        Ok(None) => Ok(redirect(Endpoint::Login.path())),
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

async fn make_change(
    browser: &Browser,
    session: &LoginSession,
    form: &PageForm,
    change: Change,
) -> Result<HttpResponse, ServerFailure> {
    let (oauth, login, fields) = (Arc::clone(&browser.oauth), session.clone(), form.clone());
    let (address, mark) = (browser.address(), browser.browser_mark().to_owned());
    let done = run_blocking(move || {
        let code = fields.get("code");
        let form_token = fields.get("csrf");
        let origin = LoginOrigin { address, browser_mark: &mark, form_token };
        match change {
            Change::Add => {
                let password = SecretString::from(fields.get("password"));
                let setup = fields.get("setup");
                oauth.confirm_second_factor(&login, setup, &password, code, &origin)
            }
            Change::Renew => oauth.renew_recovery_codes(&login, code, &origin),
            Change::Remove => {
                Ok(oauth.remove_second_factor(&login, code, &origin)?.map(|()| Vec::new()))
            }
        }
    });
    let done = done.await?;
    let outcome = if done.is_ok() { AuditOutcome::Ok } else { AuditOutcome::Denied };
    let event = AuditEvent::new(change.method(), outcome);
    browser.record(AuditEvent { user: Some(&session.user), ..event });
    match done {
        Ok(codes) if codes.is_empty() => Ok(redirect(Endpoint::SecondFactor.path())),
        Ok(codes) => Ok(page_response(StatusCode::OK, &recovery_codes_page(&codes), "")),
        Err(problem) => show_state(browser, session, form.get("setup"), Some(&problem)).await,
    }
}
