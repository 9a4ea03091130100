//! The authorization endpoint: login, consent, and the way back to the client.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use vademecum_core::{
    audit::AuditOutcome,
    auth::{KeyScope, Rights},
};
use vademecum_oauth::{
    AuthorizationError, AuthorizationQuery, AuthorizationRequest, ConsentAnswer, LoginSession,
    OAuthError,
};

use super::{
    browser::{AuditEvent, Browser},
    form::PageForm,
    login::show_login,
    reply::{ServerFailure, page_response, problem_page, redirect, run_blocking},
};
use crate::templates::{FormContext, SOURCES, consent_page};

/// Next step of an authorization request of a user who is logged in.
enum Step {
    /// The browser goes to this address.
    Leave(String),
    /// The request is invalid. A page shows the error to the user.
    Refuse(OAuthError),
    /// A page asks the user.
    Ask(Box<AuthorizationRequest>),
}

/// Shows the login page or the consent page, or returns to the client.
pub(super) async fn show_authorization(request: HttpRequest) -> HttpResponse {
    let Some(browser) = Browser::of_authorization(&request) else { return not_served() };
    let query = match AuthorizationQuery::parse(request.query_string()) {
        Ok(query) => query,
        Err(error) => return refusal_page(&error),
    };
    let done = match browser.find_session().await {
        Ok(Some(session)) => continue_request(&browser, &session, &query, None).await,
        Ok(None) => begin_request(&browser, query).await,
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

/// Shows the login page. A registered client is checked before; a document is fetched only for a
/// user, so that strangers cannot make this server fetch anything. No browser is sent to an address of
/// a client without a login, because anyone can register one (RFC 9700, section 4.11.2): an error that
/// is meant for the client waits until then.
async fn begin_request(
    browser: &Browser,
    query: AuthorizationQuery,
) -> Result<HttpResponse, ServerFailure> {
    if !query.names_document() {
        let (oauth, query) = (Arc::clone(&browser.oauth), query.clone());
        match run_blocking(move || oauth.check_request(&query)).await? {
            Ok(_) | Err(AuthorizationError::Redirect(_)) => {}
            Err(AuthorizationError::Page(error)) => return Ok(refusal_page(&error)),
        }
    }
    if query.forbids_pages() {
        return Ok(problem_page(
            StatusCode::FORBIDDEN,
            "You are not logged in",
            "The program asked for an answer without a page (prompt=none). Log in first, or start \
             again in the program.",
        ));
    }
    show_login(browser, query.raw(), None, "")
}

/// Shows the consent page, unless the user has agreed before.
async fn continue_request(
    browser: &Browser,
    session: &LoginSession,
    query: &AuthorizationQuery,
    problem: Option<&OAuthError>,
) -> Result<HttpResponse, ServerFailure> {
    let (oauth, user, checked_query) = (Arc::clone(&browser.oauth), session.clone(), query.clone());
    let is_retry = problem.is_some();
    let step = run_blocking(move || {
        let request = match oauth.check_request(&checked_query)? {
            Ok(request) => request,
            Err(AuthorizationError::Page(error)) => return Ok(Step::Refuse(error)),
            Err(AuthorizationError::Redirect(address)) => return Ok(Step::Leave(address)),
        };
        let known = if is_retry { None } else { oauth.remembered_answer(&request, &user)? };
        if known.is_none() && checked_query.forbids_pages() {
            return Ok(Step::Leave(oauth.require_consent(&request)));
        }
        Ok(known.map_or_else(|| Step::Ask(Box::new(request)), Step::Leave))
    });
    let request = match step.await? {
        Step::Leave(address) => return Ok(redirect(&address)),
        Step::Refuse(error) => return Ok(refusal_page(&error)),
        Step::Ask(request) => request,
    };
    let form = browser.oauth.consent_form(&request, session);
    let context = FormContext { csrf: session.csrf_token(), request: query.raw().to_owned() };
    let problem = problem.map(|error| error.description.as_str());
    let page = consent_page(&context, &session.user, &form, problem);
    Ok(page_response(StatusCode::OK, &page, &request.redirect_uri.policy_source()))
}

/// Takes the answer of the user.
pub(super) async fn answer_consent(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let Some(browser) = Browser::of_authorization(&request) else { return not_served() };
    let Some(form) = browser.read_form(&request, body).await else { return foreign_form() };
    let query = match AuthorizationQuery::parse(form.get("request")) {
        Ok(query) => query,
        Err(error) => return refusal_page(&error),
    };
    let done = match browser.find_session().await {
        Ok(Some(session)) => take_answer(&browser, &session, &query, &form).await,
        Ok(None) => begin_request(&browser, query).await,
        Err(failure) => Err(failure),
    };
    done.unwrap_or_else(ServerFailure::page)
}

async fn take_answer(
    browser: &Browser,
    session: &LoginSession,
    query: &AuthorizationQuery,
    form: &PageForm,
) -> Result<HttpResponse, ServerFailure> {
    let is_allowed = form.get("decision") == "allow";
    let answer = read_answer(form);
    let (oauth, user, checked_query) = (Arc::clone(&browser.oauth), session.clone(), query.clone());
    let outcome = run_blocking(move || {
        let request = match oauth.check_request(&checked_query)? {
            Ok(request) => request,
            Err(AuthorizationError::Page(error)) => return Ok(Err(Step::Refuse(error))),
            Err(AuthorizationError::Redirect(address)) => return Ok(Err(Step::Leave(address))),
        };
        let name = request.client.display_name().to_owned();
        if !is_allowed {
            return Ok(Ok((Ok(oauth.deny(&request)), name)));
        }
        Ok(Ok((oauth.approve(&request, &user, &answer)?, name)))
    });
    let (answered, client) = match outcome.await? {
        Ok(answered) => answered,
        Err(Step::Leave(address)) => return Ok(redirect(&address)),
        Err(Step::Refuse(error)) => return Ok(refusal_page(&error)),
        Err(Step::Ask(_)) => return Ok(foreign_form()),
    };
    let address = match answered {
        Ok(address) => address,
        Err(error) => return continue_request(browser, session, query, Some(&error)).await,
    };
    let outcome = if is_allowed { AuditOutcome::Ok } else { AuditOutcome::Denied };
    let event = AuditEvent::new("oauth.consent", outcome);
    browser.record(AuditEvent { user: Some(&session.user), client: &client, ..event });
    Ok(redirect(&address))
}

/// Reads what the user granted. All sources together are no limit, so that new ones are included.
fn read_answer(form: &PageForm) -> ConsentAnswer {
    let is_known = |name: &&str| SOURCES.iter().any(|(known, _)| known == name);
    let sources: Vec<String> = form.get_all("source").filter(is_known).map(str::to_owned).collect();
    let scope = KeyScope {
        tools: form.list("tools"),
        sources: (sources.len() < SOURCES.len()).then_some(sources),
        tags: form.list("tags"),
        ..KeyScope::default()
    };
    ConsentAnswer {
        shown: form.get("shown").to_owned(),
        rights: Rights::from_scopes([form.get("rights")]),
        scope,
    }
}

fn refusal_page(error: &OAuthError) -> HttpResponse {
    problem_page(
        StatusCode::BAD_REQUEST,
        "This program cannot connect",
        &format!("Its request was refused: {}.", error.description),
    )
}

/// Returns the answer to a form that no page of this server showed to this browser.
pub(crate) fn foreign_form() -> HttpResponse {
    problem_page(
        StatusCode::FORBIDDEN,
        "Please begin again",
        "This form has expired, or did not come from a page of this server. Nothing was changed. \
         Does the browser accept cookies?",
    )
}

/// Returns the answer of a server that is no authorization server.
pub(super) fn not_served() -> HttpResponse {
    problem_page(
        StatusCode::NOT_FOUND,
        "Not found",
        "This server lets no programs in through the browser: auth.oauth is off.",
    )
}
