//! A request for a page: its user, and the calls of tools that answer it.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vademecum_mcp::{Peer, PeerConnection, ReplyStatus, RequestDefaults};
use vademecum_oauth::{Endpoint, LoginSession};

use super::{
    super::{
        ServerState,
        oauth::{Browser, LoginTarget, PageForm, ServerFailure, page_response, redirect},
    },
    PageServices,
};
use crate::templates::{FormContext, Frame, Page, Section, problem_content};

/// Name of the transport in the audit log.
pub(super) const TRANSPORT: &str = "page";

/// A request for a page of a user who is logged in.
#[derive(Debug)]
pub(super) struct PageRequest {
    pub(super) browser: Browser,
    pub(super) login: LoginSession,
    pub(super) services: PageServices,
    /// Parameters of the address.
    pub(super) query: PageForm,
    peer: Peer,
}

/// Problem that ends a page.
#[derive(Debug)]
pub(super) struct PageProblem {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl PageProblem {
    /// Creates a problem.
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// Logs an error that the user can do nothing about.
    pub(super) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a page failed");
        let text = "The server has a problem. Try again; its log says more.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl From<ServerFailure> for PageProblem {
    fn from(ServerFailure: ServerFailure) -> Self {
        let text = "The server has a problem. Try again; its log says more.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl PageRequest {
    /// Finds the user of a request. A browser that is not logged in is sent to the login page, and
    /// comes back after the login.
    pub(super) async fn open(request: &HttpRequest) -> Result<Self, HttpResponse> {
        let state = request.app_data::<web::Data<ServerState>>().cloned();
        let services = state.as_ref().and_then(|state| state.pages.clone());
        let browser = Browser::of(request);
        let (Some(state), Some(services), Some(browser)) = (state, services, browser) else {
            return Err(no_pages());
        };
        let login = match browser.find_session().await {
            Ok(Some(login)) => login,
            Ok(None) => {
                let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
                let query = LoginTarget::page(asked).to_request();
                return Err(redirect(&format!("{}?{query}", Endpoint::Login.path())));
            }
            Err(failure) => return Err(failure.page()),
        };
        let principal = state.authenticator.browser_principal(&login.user, login.grantable);
        let connection = Some(PeerConnection { transport: TRANSPORT, address: browser.address() });
        let peer = Peer {
            principal,
            session: None,
            defaults: RequestDefaults::default(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection,
        };
        let query = PageForm::parse(request.query_string().as_bytes());
        Ok(Self { browser, login, services, query, peer })
    }

    /// Returns the principal of the user.
    pub(super) fn principal(&self) -> &vademecum_core::auth::Principal {
        &self.peer.principal
    }

    /// Returns the number in a parameter of the address; 0 without one.
    pub(super) fn number(&self, name: &str) -> usize {
        self.query.get(name).parse().unwrap_or_default()
    }

    /// Returns the hidden fields of forms.
    pub(super) fn form_context(&self) -> FormContext {
        FormContext { csrf: self.login.csrf_token(), request: String::new() }
    }

    /// Calls a tool, as a client of the user does, and reads its result.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<T, PageProblem> {
        let service = &self.browser.state().service;
        let result = service.call_tool_as(&self.peer, tool, &arguments).await;
        let result =
            result.map_err(|error| PageProblem::new(status_of(error.status), error.message))?;
        serde_json::from_value(result).map_err(|error| PageProblem::internal(&error))
    }

    /// Renders a page in the frame of the library.
    pub(super) fn respond(
        &self,
        section: Section,
        shown: Result<Page, PageProblem>,
    ) -> HttpResponse {
        let (status, page) = match shown {
            Ok(page) => (StatusCode::OK, page),
            Err(problem) => {
                (problem.status, Page::new("Not shown", problem_content(&problem.text)))
            }
        };
        let frame = Frame {
            section,
            query: self.query.get("q").to_owned(),
            user: self.login.user.to_string(),
            logout: self.form_context(),
        };
        page_response(status, &page.framed(frame), "")
    }
}

/// Returns the status of a page whose call failed.
fn status_of(status: ReplyStatus) -> StatusCode {
    match status {
        ReplyStatus::Forbidden(_) => StatusCode::FORBIDDEN,
        ReplyStatus::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        ReplyStatus::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        ReplyStatus::Ok
        | ReplyStatus::Accepted
        | ReplyStatus::BadRequest
        | ReplyStatus::NotFound => StatusCode::BAD_REQUEST,
    }
}

/// Returns the answer of a server without pages.
fn no_pages() -> HttpResponse {
    HttpResponse::NotFound()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(json!({ "error": "this server has no pages: server.pages is off" }))
}
