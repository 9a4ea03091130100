//! The browser of a user: its cookies, and who is logged in.

use std::{net::IpAddr, sync::Arc};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web,
};
use vademecum_accounts::CallerAccount;
use vademecum_core::{
    audit::{AuditEntry, AuditOutcome},
    auth::{KeyId, UserId},
};
use vademecum_oauth::{AuthorizationServer, LoginError, LoginSession};

use super::{
    super::{ServerState, credentials::request_address, request_body::read_body},
    form::PageForm,
    reply::{ServerFailure, run_blocking},
};

/// Name of the cookie of a login.
const LOGIN_COOKIE: &str = "vademecum";
/// Name of the cookie that marks a browser in which a user has logged in.
const BROWSER_COOKIE: &str = "vademecum-browser";
/// Lifetime of that cookie, in seconds.
const BROWSER_COOKIE_SECONDS: u32 = 365 * 24 * 60 * 60;
/// Name of the cookie of a login at the outside provider.
const PROVIDER_COOKIE: &str = "vademecum-provider";
/// Lifetime of the cookie of a login, in seconds: the most that browsers keep one. That of the session
/// in the store, which each use extends, decides before.
const LOGIN_COOKIE_SECONDS: u32 = 400 * 24 * 60 * 60;
/// Lifetime of the cookie of a browser that is not logged in, in seconds.
const VISITOR_COOKIE_SECONDS: u32 = 12 * 60 * 60;
/// Lifetime of the cookie of a login at the provider, in seconds.
const PROVIDER_COOKIE_SECONDS: u32 = 10 * 60;
/// Maximum length of a cookie that is read, in bytes: a mark of a browser has a sealed user name.
const MAX_COOKIE_LENGTH: usize = 300;
/// Maximum size of the form of a page, in bytes.
pub(super) const MAX_FORM_BYTES: usize = 64 << 10;

/// A request of a browser.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    pub(crate) oauth: Arc<AuthorizationServer>,
    state: web::Data<ServerState>,
    address: Option<IpAddr>,
    /// Whether the browser runs under an account that must not see the pages.
    is_refused: bool,
    /// Cookie of the login, or of a browser that is not logged in; empty if there is none.
    cookie: String,
    provider_cookie: String,
    /// Mark of a browser in which a user has logged in before; empty if there is none.
    mark: String,
}

/// Token for the forms of a page, and the cookie that it belongs to.
#[derive(Debug)]
pub(super) struct FormToken {
    /// Token for the forms of the page.
    pub(super) csrf: String,
    /// Cookie to set, if the browser has none.
    new_cookie: Option<String>,
}

impl Browser {
    /// Reads the cookies of a request to the authorization server; `None` if this server is none.
    pub(super) fn of_authorization(request: &HttpRequest) -> Option<Self> {
        Self::of(request).filter(|browser| browser.state.oauth.is_some())
    }

    /// Reads the cookies of a request; `None` if no browser can log in to this server.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        let state = request.app_data::<web::Data<ServerState>>()?.clone();
        let oauth = Arc::clone(state.logins.as_ref()?);
        let secure = oauth.public_url().is_https();
        let address = request_address(request.peer_addr(), request.headers(), &state.auth);
        let account = request.conn_data::<CallerAccount>().copied().unwrap_or_default();
        let is_refused = state.authenticator.refuses_browser(account);
        let cookie = read_cookie(request, &cookie_name(LOGIN_COOKIE, secure));
        let provider_cookie = read_cookie(request, &cookie_name(PROVIDER_COOKIE, secure));
        let mark = read_cookie(request, &cookie_name(BROWSER_COOKIE, secure));
        Some(Self { oauth, state, address, is_refused, cookie, provider_cookie, mark })
    }

    /// Returns the state of the server.
    pub(crate) fn state(&self) -> &web::Data<ServerState> {
        &self.state
    }

    /// Returns the address of the client.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Fails if nothing that the browser presents can log it in.
    pub(super) fn check_account(&self) -> Result<(), LoginError> {
        if self.is_refused { Err(LoginError::OtherAccount) } else { Ok(()) }
    }

    /// Returns the cookie of the login at the provider.
    pub(super) fn provider_cookie(&self) -> &str {
        &self.provider_cookie
    }

    /// Returns the mark of a browser in which a user has logged in before; empty if there is none.
    pub(super) fn browser_mark(&self) -> &str {
        &self.mark
    }

    /// Returns the cookie of the login.
    pub(super) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Reads the form of a page. `None` if it is too long or did not come from a page that this
    /// browser was shown.
    pub(crate) async fn read_form(
        &self,
        request: &HttpRequest,
        body: web::Payload,
    ) -> Option<PageForm> {
        self.read_form_of(request, body, MAX_FORM_BYTES).await.ok().flatten()
    }

    /// Reads the form of a page with at most `max_bytes`. `None` if it did not come from a page that this
    /// browser was shown; fails with the answer if it cannot be read.
    pub(crate) async fn read_form_of(
        &self,
        request: &HttpRequest,
        body: web::Payload,
        max_bytes: usize,
    ) -> Result<Option<PageForm>, HttpResponse> {
        let form = self.read_sent_form(request, body, max_bytes).await?;
        Ok(self.is_own_form(form.get("csrf")).then_some(form))
    }

    /// Reads a form of any origin with at most `max_bytes`.
    pub(crate) async fn read_sent_form(
        &self,
        request: &HttpRequest,
        body: web::Payload,
        max_bytes: usize,
    ) -> Result<PageForm, HttpResponse> {
        let body = read_body(request, body, &self.state, max_bytes).await?;
        Ok(PageForm::parse(&body.bytes))
    }

    /// Returns true if this token is that of a form which this browser was shown.
    pub(crate) fn is_own_form(&self, token: &str) -> bool {
        !self.cookie.is_empty() && self.oauth.is_own_form(&self.cookie, token)
    }

    /// Returns the login of this browser, if there is one.
    pub(crate) async fn find_session(&self) -> Result<Option<LoginSession>, ServerFailure> {
        if self.cookie.is_empty() || self.is_refused {
            return Ok(None);
        }
        let (oauth, cookie) = (Arc::clone(&self.oauth), self.cookie.clone());
        run_blocking(move || oauth.find_session(&cookie)).await
    }

    /// Returns the token for the forms of a page, and a cookie if the browser has none yet.
    pub(super) fn form_token(&self) -> Result<FormToken, ServerFailure> {
        if !self.cookie.is_empty() {
            let csrf = self.oauth.form_token(&self.cookie);
            return Ok(FormToken { csrf, new_cookie: None });
        }
        let (cookie, csrf) =
            self.oauth.new_browser().map_err(|error| super::reply::log_failure(&error))?;
        Ok(FormToken { csrf, new_cookie: Some(cookie) })
    }

    /// Adds the cookie of a token to a response.
    pub(super) fn keep_token(&self, response: &mut HttpResponse, token: &FormToken) {
        if let Some(cookie) = &token.new_cookie {
            self.set_cookie(response, LOGIN_COOKIE, cookie, VISITOR_COOKIE_SECONDS);
        }
    }

    /// Adds the cookie of a login to a response.
    pub(super) fn keep_session(&self, response: &mut HttpResponse, session: &LoginSession) {
        self.set_cookie(response, LOGIN_COOKIE, session.cookie(), LOGIN_COOKIE_SECONDS);
        if let Some(mark) = session.browser_mark() {
            self.set_cookie(response, BROWSER_COOKIE, mark, BROWSER_COOKIE_SECONDS);
        }
    }

    /// Adds the cookie of a login at the provider to a response; an empty one removes it.
    pub(super) fn keep_provider_cookie(&self, response: &mut HttpResponse, cookie: &str) {
        let seconds = if cookie.is_empty() { 0 } else { PROVIDER_COOKIE_SECONDS };
        self.set_cookie(response, PROVIDER_COOKIE, cookie, seconds);
    }

    /// Removes the cookie of a login.
    pub(super) fn forget_session(&self, response: &mut HttpResponse) {
        self.set_cookie(response, LOGIN_COOKIE, "", 0);
    }

    /// Sets a cookie that scripts cannot read. Pages of other sites send it only when a person
    /// follows a link here, as clients let their users do; forms carry a token besides.
    fn set_cookie(&self, response: &mut HttpResponse, name: &str, value: &str, seconds: u32) {
        let is_https = self.oauth.public_url().is_https();
        let name = cookie_name(name, is_https);
        let secure = if is_https { "; Secure" } else { "" };
        let cookie =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }

    /// Records an event in the audit log.
    pub(crate) fn record(&self, event: AuditEvent<'_>) {
        let AuditEvent { method, outcome, user, key, client, reason } = event;
        self.state.service.audit_log().record(AuditEntry {
            user: user.cloned(),
            key: key.cloned(),
            client: client.into(),
            address: self.address,
            reason,
            ..AuditEntry::new(method, "http", outcome)
        });
        if outcome == AuditOutcome::Denied && method == "login" {
            // docs/audit.md promises this line to programs that block addresses.
            let address =
                self.address.map_or_else(|| "unknown".to_owned(), |address| address.to_string());
            tracing::warn!(%address, reason = reason.unwrap_or_default(), "login failed");
        }
    }
}

/// Event of the authorization server in the audit log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditEvent<'a> {
    pub(crate) method: &'static str,
    pub(crate) outcome: AuditOutcome,
    pub(crate) user: Option<&'a UserId>,
    pub(crate) key: Option<&'a KeyId>,
    pub(crate) client: &'a str,
    pub(crate) reason: Option<&'static str>,
}

impl AuditEvent<'_> {
    /// Returns an event without a user.
    pub(crate) fn new(method: &'static str, outcome: AuditOutcome) -> Self {
        Self { method, outcome, user: None, key: None, client: "", reason: None }
    }
}

/// Returns the name of a cookie. With the prefix, browsers accept it from this host alone, over
/// https.
fn cookie_name(name: &str, is_https: bool) -> String {
    if is_https { format!("__Host-{name}") } else { name.to_owned() }
}

/// Returns the value of a cookie; empty if it is missing, or sent twice, as a neighbour of this host
/// can cause.
fn read_cookie(request: &HttpRequest, name: &str) -> String {
    let values = request.headers().get_all(header::COOKIE);
    let pairs = values.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(';'));
    let mut found = pairs.filter_map(|pair| {
        let (known, value) = pair.split_once('=')?;
        (known.trim() == name).then(|| value.trim().to_owned())
    });
    match (found.next(), found.next()) {
        (Some(value), None) if value.len() <= MAX_COOKIE_LENGTH => value,
        _ => String::new(),
    }
}
