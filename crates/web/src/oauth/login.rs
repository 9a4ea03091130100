//! Login by password and by one-time code.

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use secrecy::SecretString;
use url::form_urlencoded;
use vademecum_core::{audit::AuditOutcome, auth::UserId};
use vademecum_oauth::{
    AuthorizationQuery, Endpoint, LoginError, LoginOrigin, LoginSession, LoginStep, PendingLogin,
};

use super::{
    LoginTarget,
    authorize::{foreign_form, not_served},
    browser::{AuditEvent, Browser},
    form::PageForm,
    reply::{ServerFailure, log_failure, page_response, redirect, run_blocking},
};
use crate::templates::{FormContext, LoginPage, login_code_page, login_factor_page, login_page};

/// Shows the login page, for an authorization request with this query or for the account page.
pub(super) fn show_login(
    browser: &Browser,
    query: &str,
    problem: Option<&LoginError>,
    name: &str,
) -> Result<HttpResponse, ServerFailure> {
    let token = browser.form_token()?;
    let provider = browser.oauth.oidc().map(|oidc| {
        let query =
            form_urlencoded::Serializer::new(String::new()).append_pair("request", query).finish();
        (oidc.settings().name.clone(), format!("{}?{query}", Endpoint::Provider.path()))
    });
    let passkey = if browser.oauth.has_passkeys() {
        let challenge = browser.oauth.passkey_challenge(&token.csrf);
        Some(challenge.map_err(|error| log_failure(&error))?)
    } else {
        None
    };
    let page = login_page(&LoginPage {
        context: FormContext { csrf: token.csrf.clone(), request: query.to_owned() },
        has_passwords: browser.oauth.has_passwords(),
        provider,
        passkey,
        problem: problem.map(ToString::to_string),
        name: name.to_owned(),
    });
    let mut response = page_response(status_of(problem), &page, &form_target(query));
    add_wait(&mut response, problem);
    browser.keep_token(&mut response, &token);
    Ok(response)
}

/// Returns where the forms of a login may lead: with a consent that was given before, the browser
/// goes on to the client.
fn form_target(query: &str) -> String {
    let query = AuthorizationQuery::parse(query).ok();
    let address = query.and_then(|query| query.stated_redirect_uri());
    address.map(|address| address.policy_source()).unwrap_or_default()
}

pub(super) fn status_of(problem: Option<&LoginError>) -> StatusCode {
    match problem {
        None => StatusCode::OK,
        Some(LoginError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(LoginError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
        Some(
            LoginError::Wrong
            | LoginError::WrongCombination { .. }
            | LoginError::Expired
            | LoginError::WrongPasskey
            | LoginError::WrongCode
            | LoginError::Suspended
            | LoginError::OtherAccount
            | LoginError::NoAccount,
        ) => StatusCode::FORBIDDEN,
    }
}

pub(super) fn add_wait(response: &mut HttpResponse, problem: Option<&LoginError>) {
    if let Some(LoginError::TooManyAttempts { wait }) = problem {
        let seconds = wait.as_secs() + 1;
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
}

/// Shows the login page for a page of this server.
pub(super) async fn show_login_page(request: HttpRequest) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let next = LoginTarget::parse(request.query_string());
    show_login(&browser, &next.to_request(), None, "").unwrap_or_else(ServerFailure::page)
}

/// Logs in by name and password.
pub(super) async fn log_in(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let (oauth, fields, address) = (Arc::clone(&browser.oauth), form.clone(), browser.address());
    let (allowed, mark) = (browser.check_account(), browser.browser_mark().to_owned());
    let done = run_blocking(move || match allowed {
        Ok(()) => {
            let password = SecretString::from(fields.get("password"));
            let form_token = fields.get("csrf");
            let origin = LoginOrigin { address, browser_mark: &mark, form_token };
            oauth.log_in(fields.get("name"), &password, &origin)
        }
        Err(refusal) => Ok(Err(refusal)),
    });
    let done = match done.await {
        Ok(Ok(LoginStep::Done(session))) => return enter(&browser, &session, form.get("request")),
        Ok(Ok(LoginStep::NeedsCode(pending))) => Ok(ask_for_code(&browser, &form, &pending)),
        Ok(Err(refusal)) => refuse(&browser, &form, &refusal),
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

/// Shows the login page again, with the reason of a refusal.
pub(super) fn refuse(
    browser: &Browser,
    form: &PageForm,
    refusal: &LoginError,
) -> Result<HttpResponse, ServerFailure> {
    record_refusal(browser, refusal, typed_user(form).as_ref());
    show_login(browser, form.get("request"), Some(refusal), form.get("name"))
}

/// Returns the account that a login names.
fn typed_user(form: &PageForm) -> Option<UserId> {
    form.get("name").trim().parse().ok()
}

/// Shows the page for the code of the second factor. A wrong password is recorded; the page does not
/// disclose it.
fn ask_for_code(browser: &Browser, form: &PageForm, pending: &PendingLogin) -> HttpResponse {
    if !pending.is_password_right() {
        record_refusal(browser, &LoginError::Wrong, typed_user(form).as_ref());
    }
    let (csrf, request) = (form.get("csrf").to_owned(), form.get("request").to_owned());
    let target = form_target(&request);
    let context = FormContext { csrf, request };
    let page = login_factor_page(&context, pending.sealed(), form.get("name").trim());
    page_response(StatusCode::OK, &page, &target)
}

/// Completes a login with the code of the second factor.
pub(super) async fn take_second_factor(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let (oauth, fields, address) = (Arc::clone(&browser.oauth), form.clone(), browser.address());
    let (allowed, mark) = (browser.check_account(), browser.browser_mark().to_owned());
    let done = run_blocking(move || match allowed {
        Ok(()) => {
            let form_token = fields.get("csrf");
            let origin = LoginOrigin { address, browser_mark: &mark, form_token };
            oauth.finish_login(fields.get("pending"), fields.get("code"), &origin)
        }
        Err(refusal) => Ok(Err(refusal)),
    });
    let done = match done.await {
        Ok(Ok(session)) => return enter(&browser, &session, form.get("request")),
        // The wrong password was recorded when it was entered.
        Ok(Err(refusal @ LoginError::WrongCombination { is_password_right: false })) => {
            show_login(&browser, form.get("request"), Some(&refusal), form.get("name"))
        }
        Ok(Err(refusal)) => refuse(&browser, &form, &refusal),
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

/// Shows the login page to a browser that asks for the address of one of its forms.
pub(super) async fn restart_login() -> HttpResponse {
    redirect(Endpoint::Login.path())
}

/// Shows the page for a one-time code, which leads to the page in the address. The code in it is only
/// filled in: programs that look at addresses in advance must not use it up.
pub(super) async fn show_code_page(request: HttpRequest) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let fields = PageForm::parse(request.query_string().as_bytes());
    let next = LoginTarget::page(fields.get("page")).to_request();
    let shown = code_page(&browser, &next, fields.get("code"), None);
    shown.unwrap_or_else(ServerFailure::page)
}

/// Logs in by one-time code.
pub(super) async fn redeem_code(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let (oauth, fields, address) = (Arc::clone(&browser.oauth), form.clone(), browser.address());
    let allowed = browser.check_account();
    let done = run_blocking(move || match allowed {
        Ok(()) => oauth.redeem_code(fields.get("code"), address),
        Err(refusal) => Ok(Err(refusal)),
    });
    let done = match done.await {
        Ok(Ok(session)) => return enter(&browser, &session, form.get("request")),
        Ok(Err(refusal)) => {
            record_refusal(&browser, &refusal, None);
            code_page(&browser, form.get("request"), "", Some(&refusal))
        }
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

fn code_page(
    browser: &Browser,
    query: &str,
    code: &str,
    problem: Option<&LoginError>,
) -> Result<HttpResponse, ServerFailure> {
    let token = browser.form_token()?;
    let context = FormContext { csrf: token.csrf.clone(), request: query.to_owned() };
    let message = problem.map(ToString::to_string);
    let page = login_code_page(&context, code, message.as_deref());
    let mut response = page_response(status_of(problem), &page, &form_target(query));
    add_wait(&mut response, problem);
    browser.keep_token(&mut response, &token);
    Ok(response)
}

/// Continues after a login: with the authorization request that it interrupted, or at the account.
pub(super) fn enter(browser: &Browser, session: &LoginSession, query: &str) -> HttpResponse {
    let event = AuditEvent::new("login", AuditOutcome::Ok);
    browser.record(AuditEvent { user: Some(&session.user), ..event });
    let target = LoginTarget::parse(query);
    let mut response = redirect(&target.address(browser.state().pages.is_some()));
    browser.keep_session(&mut response, session);
    response
}

/// Records a failed login, at this account if one was named.
pub(super) fn record_refusal(browser: &Browser, refusal: &LoginError, user: Option<&UserId>) {
    let event = AuditEvent::new("login", AuditOutcome::Denied);
    browser.record(AuditEvent { user, reason: Some(refusal.code()), ..event });
}
