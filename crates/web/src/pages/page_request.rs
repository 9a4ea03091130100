//! A request for a page: its user, and the calls of tools that answer it.

use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    http::{Method, StatusCode, header},
    web,
};
use serde_json::{Value, json};
use vademecum_actors::{CallContext, CallError, Library, ListItems, ListPage};
use vademecum_core::auth::Right;
use vademecum_mcp::{
    CallProblem, Peer, PeerConnection, ReplyStatus, RequestContext, RequestDefaults,
};
use vademecum_model::{ListRequest, SourceName};
use vademecum_oauth::{Endpoint, LoginSession};
use vademecum_tools::{KnowledgeList, Tool};

use super::{
    super::{
        ServerState,
        counted_reply::PageUser,
        oauth::{
            Browser, LoginTarget, PageForm, ServerFailure, foreign_form, page_response, redirect,
        },
    },
    PageServices,
};
use crate::templates::{FormContext, Frame, Page, Section, problem_content};

/// Length of the beginning of a listed item, in characters.
const SNIPPET_LENGTH: usize = 200;

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
    /// Creates a problem; `text` is shown to the user.
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// Problem of a user who may not change items.
    pub(super) fn read_only() -> Self {
        let text = "You may read this library, but not change it.";
        Self::new(StatusCode::FORBIDDEN, text)
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

impl From<CallProblem<CallError>> for PageProblem {
    fn from(problem: CallProblem<CallError>) -> Self {
        match problem {
            CallProblem::NotAdmitted { status, message } => Self::new(status_of(status), message),
            CallProblem::Failed(error) => {
                let status = match error {
                    CallError::NotFound(_) => StatusCode::NOT_FOUND,
                    _ => StatusCode::BAD_REQUEST,
                };
                Self::new(status, error.to_string())
            }
        }
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
                // A form has no page of its own.
                let path =
                    request.uri().path_and_query().filter(|_| *request.method() == Method::GET);
                let path = path.map_or("/", |path| path.as_str());
                let query = LoginTarget::page(path).to_request();
                return Err(redirect(&format!("{}?{query}", Endpoint::Login.path())));
            }
            Err(failure) => return Err(failure.page()),
        };
        let principal = state.authenticator.browser_principal(&login.user, login.grantable);
        request.extensions_mut().insert(PageUser(principal.clone()));
        let connection = Some(PeerConnection { transport: TRANSPORT, address: browser.address() });
        let peer = Peer {
            principal,
            session: None,
            defaults: RequestDefaults::default(),
            ignored_config: Vec::new(),
            name_style: None,
            headers: None,
            call_permits: None,
            connection,
        };
        let query = PageForm::parse(request.query_string().as_bytes());
        Ok(Self { browser, login, services, query, peer })
    }

    /// Finds the user of a form of at most `max_bytes` that changes the library, and reads it. Fails with
    /// the answer if the browser is not logged in, the form is not one of this server, or the user may
    /// not write.
    pub(super) async fn open_form(
        request: &HttpRequest,
        body: web::Payload,
        max_bytes: usize,
    ) -> Result<(Self, PageForm), HttpResponse> {
        let page = Self::open(request).await?;
        let form = page.browser.read_form_of(request, body, max_bytes).await?;
        let Some(form) = form else { return Err(foreign_form()) };
        if !page.may_write() {
            return Err(page.respond(Section::Item, Err(PageProblem::read_only())));
        }
        Ok((page, form))
    }

    /// Returns true if the user may change items.
    pub(super) fn may_write(&self) -> bool {
        self.principal().has_right(Right::Write)
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

    /// Runs work with the rights and limits of a call of a tool by the user, and with an entry in the
    /// audit log.
    pub(super) async fn run<T>(
        &self,
        tool: &str,
        arguments: &Value,
        work: impl AsyncFnOnce(&RequestContext) -> Result<T, CallError>,
    ) -> Result<T, PageProblem> {
        let service = &self.browser.state().service;
        service.run_as_tool(&self.peer, tool, arguments, work).await.map_err(PageProblem::from)
    }

    /// Runs a tool, and returns its output.
    pub(super) async fn run_tool<T: Tool>(
        &self,
        arguments: &Value,
    ) -> Result<T::Output, PageProblem> {
        let tools = &self.services.tools;
        self.run(T::NAME, arguments, async |call| tools.run_tool::<T>(arguments, call).await).await
    }

    /// Runs a tool that writes for the user, also if clients may not write.
    pub(super) async fn write<T: Tool>(&self, arguments: &Value) -> Result<T::Output, PageProblem> {
        let tools = &self.services.tools;
        let work =
            async |call: &RequestContext| tools.run_tool_of_person::<T>(arguments, call).await;
        self.run_as_person(T::NAME, arguments, work).await
    }

    /// Runs work as [`run`](Self::run) does, also for a tool that is not offered to clients.
    pub(super) async fn run_as_person<T>(
        &self,
        tool: &str,
        arguments: &Value,
        work: impl AsyncFnOnce(&RequestContext) -> Result<T, CallError>,
    ) -> Result<T, PageProblem> {
        let service = &self.browser.state().service;
        service.run_as_person(&self.peer, tool, arguments, work).await.map_err(PageProblem::from)
    }

    /// Lists items of the library.
    pub(super) async fn list(
        &self,
        sources: Vec<SourceName>,
        request: ListRequest,
        offset: usize,
    ) -> Result<ListPage, PageProblem> {
        let library = self.services.library(self.principal());
        let arguments = json!({ "sources": sources, "limit": request.take, "offset": offset });
        let page = self.run(KnowledgeList::NAME, &arguments, async |call| {
            let page = list_items(&library, (sources, request, offset), call).await?;
            call.items.record(page.hits.iter().map(|hit| &hit.uri));
            Ok(page)
        });
        page.await
    }

    /// Renders a page that shows texts of the library, without invisible and control characters.
    pub(super) fn respond_with_items(
        &self,
        section: Section,
        shown: Result<Page, PageProblem>,
    ) -> HttpResponse {
        let tools = self.services.tools.services();
        self.respond(section, shown.map(|page| page.map_texts(|text| tools.clean_text(text))))
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
        self.respond_with(status, section, page)
    }

    /// Renders a page in the frame of the library, with a status.
    pub(super) fn respond_with(
        &self,
        status: StatusCode,
        section: Section,
        page: Page,
    ) -> HttpResponse {
        let frame = Frame {
            section,
            query: self.query.get("q").to_owned(),
            user: self.login.user.to_string(),
            logout: self.form_context(),
        };
        page_response(status, &page.framed(frame), "")
    }
}

/// Lists items of a library for a call.
pub(super) async fn list_items(
    library: &Library,
    (sources, request, offset): (Vec<SourceName>, ListRequest, usize),
    call: &RequestContext,
) -> Result<ListPage, CallError> {
    let context = CallContext::from_request(call);
    let snippet_length = SNIPPET_LENGTH;
    let list = ListItems { sources, request, offset, snippet_length, as_of: None, context };
    library.list_items(list).await
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
