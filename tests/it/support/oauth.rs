//! A server that is an authorization server, a browser with cookies, and a client of it.

use std::{cell::RefCell, collections::BTreeMap};

use base64::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

use super::{HttpRequest, HttpResponse, Library, Server};

/// A server with the user ada, whose password is [`OAuthServer::PASSWORD`].
pub(crate) struct OAuthServer {
    pub(crate) library: Library,
    pub(crate) server: Server,
}

impl OAuthServer {
    pub(crate) const HOST: &'static str = "knowledge.example";
    pub(crate) const ISSUER: &'static str = "https://knowledge.example";
    pub(crate) const RESOURCE: &'static str = "https://knowledge.example/mcp";
    pub(crate) const PASSWORD: &'static str = "correct horse battery";

    /// Starts the server with a note of ada that contains `amethyst`.
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// Starts the server with more settings in `[auth]` and after it.
    pub(crate) fn start_with(settings: &str) -> Self {
        let library = Library::new();
        library.import_for_user("ada", "notes", "note.md", "---\ntags: [work]\n---\nAn amethyst.");
        Self::add_user(&library, "ada");
        Self::serve(library, settings)
    }

    /// Adds a user with a password.
    pub(crate) fn add_user(library: &Library, name: &str) {
        let file = library.write_file("public.toml", public_url());
        let file = file.to_str().unwrap();
        let added = library.run(&["user", "add", name]);
        assert!(added.code == 0 || added.stderr.contains("already"), "{added:?}");
        let arguments = ["user", "password", name, "--config", file];
        let set = library.run_with_input(&arguments, &format!("{}\n", Self::PASSWORD));
        assert_eq!(set.code, 0, "{set:?}");
    }

    /// Serves an existing library.
    pub(crate) fn serve(library: Library, settings: &str) -> Self {
        let server = library.serve_with_settings(&format!(
            "{}[auth]\nmode = \"multi\"\noauth = true\n{settings}",
            public_url()
        ));
        Self { library, server }
    }

    /// Stops the server and starts another one on the same library.
    pub(crate) fn restart(self) -> Self {
        let Self { library, server } = self;
        drop(server);
        Self::serve(library, "")
    }

    /// Stops the server, which then has written all entries, and returns the audit log.
    pub(crate) fn read_audit_log(self) -> Value {
        let Self { library, mut server } = self;
        super::terminate(server.process());
        server.wait_for_exit();
        library.run(&["audit", "--json"]).parse_json()
    }

    /// Runs a command with the settings of the server.
    pub(crate) fn run(&self, arguments: &[&str]) -> super::CommandOutput {
        let file = self.library.file_path("settings.toml");
        self.library.run(&[arguments, &["--config", file.to_str().unwrap()]].concat())
    }

    /// Returns a browser without cookies.
    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser::at_public_address(&self.server)
    }

    /// Returns a browser in which ada is logged in.
    pub(crate) fn logged_in_browser(&self) -> Browser<'_> {
        let browser = self.browser();
        let page = browser.get("/login");
        let done =
            browser.submit("/login", &page, &[("name", "ada"), ("password", Self::PASSWORD)]);
        assert_eq!(done.status, 303, "{done:?}");
        browser
    }

    /// Registers a client with these addresses.
    pub(crate) fn register(&self, redirect_uris: &[&str]) -> OAuthClient<'_> {
        let response = self.try_register(&json!({
            "client_name": "Test client", "redirect_uris": redirect_uris,
        }));
        assert_eq!(response.status, 201, "{response:?}");
        let id = response.json()["client_id"].as_str().unwrap().to_owned();
        OAuthClient { server: &self.server, id, redirect_uri: redirect_uris[0].to_owned() }
    }

    /// Sends a registration.
    pub(crate) fn try_register(&self, request: &Value) -> HttpResponse {
        self.server.request("POST", "/oauth/register").host(Self::HOST).json(request).send()
    }

    /// Searches for the note with a token and returns the status.
    pub(crate) fn search(&self, token: &str) -> HttpResponse {
        let client = self.server.client().with_bearer_token(token);
        client.send(&json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
                "name": "knowledge.search", "arguments": { "query": "amethyst" },
            },
        }))
    }

    /// Grants a new client the right to read, and returns the client and its tokens.
    pub(crate) fn grant(&self) -> (OAuthClient<'_>, Value) {
        let client = self.register(&["https://client.example/callback"]);
        let browser = self.logged_in_browser();
        let code = client.obtain_code(&browser);
        let tokens = client.exchange_code(&code);
        assert_eq!(tokens.status, 200, "{tokens:?}");
        let tokens = tokens.json();
        (client, tokens)
    }
}

fn public_url() -> String {
    format!("[server]\npublic_url = \"{}\"\n", OAuthServer::ISSUER)
}

/// A browser: keeps cookies, follows nothing by itself.
pub(crate) struct Browser<'a> {
    server: &'a Server,
    host: String,
    origin: String,
    /// Address that a proxy states; empty without a proxy.
    address: RefCell<String>,
    cookies: RefCell<BTreeMap<String, String>>,
}

impl<'a> Browser<'a> {
    /// Returns a browser without cookies on the machine of the server.
    pub(crate) fn of(server: &'a Server) -> Self {
        let host = server.address().to_owned();
        let origin = format!("http://{host}");
        let (address, cookies) = (RefCell::default(), RefCell::default());
        Self { server, host, origin, address, cookies }
    }

    /// Returns a browser without cookies that uses the public address of the server.
    pub(crate) fn at_public_address(server: &'a Server) -> Self {
        let (host, origin) = (OAuthServer::HOST.to_owned(), OAuthServer::ISSUER.to_owned());
        let (address, cookies) = (RefCell::default(), RefCell::default());
        Self { server, host, origin, address, cookies }
    }

    /// Sends further requests from this address, which a proxy states.
    pub(crate) fn move_to(&self, address: &str) {
        address.clone_into(&mut self.address.borrow_mut());
    }

    /// Logs in with the code of a link.
    pub(crate) fn redeem_link(&self, link: &str) -> HttpResponse {
        let (_, code) = link.trim().split_once("code=").unwrap();
        let page = self.get(&format!("/login/code?code={code}"));
        self.submit("/login/code", &page, &[("code", code)])
    }

    fn request(&self, method: &str, path: &str) -> HttpRequest<'_> {
        let request = self.server.request(method, path).host(&self.host);
        match self.address.borrow().as_str() {
            "" => request,
            address => request.header("x-forwarded-for", address),
        }
    }

    /// Requests a page.
    pub(crate) fn get(&self, path: &str) -> HttpResponse {
        let request = self.request("GET", path);
        self.keep_cookies(request.header("cookie", &self.cookie_header()).send())
    }

    /// Sends a form with exactly these fields.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
        self.post_body(path, "application/x-www-form-urlencoded", encode_form(fields))
    }

    /// Sends a body of a form.
    pub(crate) fn post_body(
        &self,
        path: &str,
        kind: &str,
        body: impl Into<Vec<u8>>,
    ) -> HttpResponse {
        let request = self
            .request("POST", path)
            .header("cookie", &self.cookie_header())
            .header("origin", &self.origin)
            .header("content-type", kind)
            .body(body);
        self.keep_cookies(request.send())
    }

    /// Sends the form of a page with its hidden fields, and these.
    pub(crate) fn submit(
        &self,
        path: &str,
        page: &HttpResponse,
        fields: &[(&str, &str)],
    ) -> HttpResponse {
        let hidden = ["csrf", "request", "shown"]
            .into_iter()
            .filter_map(|name| Some((name, form_field(&page.body, name)?)));
        let hidden: Vec<(&str, String)> = hidden.collect();
        let hidden = hidden.iter().map(|(name, value)| (*name, value.as_str()));
        let fields: Vec<(&str, &str)> = hidden.chain(fields.iter().copied()).collect();
        self.post(path, &fields)
    }

    /// Agrees on a consent page to the rights that are chosen there.
    pub(crate) fn agree(&self, page: &HttpResponse) -> HttpResponse {
        self.agree_with(page, "read", &[])
    }

    /// Agrees on a consent page to a right, with more fields.
    pub(crate) fn agree_with(
        &self,
        page: &HttpResponse,
        right: &str,
        more: &[(&str, &str)],
    ) -> HttpResponse {
        let sources =
            ["notes", "media", "chats", "characters", "prompts", "collections", "databases"];
        let mut fields = vec![("decision", "allow"), ("rights", right)];
        if !more.iter().any(|(name, _)| *name == "source") {
            fields.extend(sources.map(|source| ("source", source)));
        }
        fields.extend(more);
        self.submit("/oauth/authorize", page, &fields)
    }

    /// Returns the value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().get(name).cloned()
    }

    /// Sets a cookie.
    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn cookie_header(&self) -> String {
        let cookies = self.cookies.borrow();
        let pairs: Vec<String> =
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    fn keep_cookies(&self, response: HttpResponse) -> HttpResponse {
        for cookie in response.headers("set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.set_cookie(name, value);
        }
        response
    }
}

/// A client that registered itself.
pub(crate) struct OAuthClient<'a> {
    pub(crate) server: &'a Server,
    pub(crate) id: String,
    pub(crate) redirect_uri: String,
}

impl OAuthClient<'_> {
    pub(crate) const VERIFIER: &'static str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG-._~";

    /// Returns an authorization request, which a test may change.
    pub(crate) fn authorization(&self) -> AuthorizationUrl {
        AuthorizationUrl::new(&self.id, &self.redirect_uri)
    }

    /// Has the user of a browser agree, and returns the code.
    pub(crate) fn obtain_code(&self, browser: &Browser<'_>) -> String {
        let page = browser.get(&self.authorization().path());
        assert_eq!(page.status, 200, "{page:?}");
        let answer = browser.agree(&page);
        assert_eq!(answer.status, 303, "{answer:?}");
        location_parameter(&answer, "code").unwrap()
    }

    /// Returns the code of a client to which the user has agreed before.
    pub(crate) fn obtain_code_again(&self, browser: &Browser<'_>) -> String {
        let answer = browser.get(&self.authorization().path());
        assert_eq!(answer.status, 303, "{answer:?}");
        location_parameter(&answer, "code").unwrap()
    }

    /// Exchanges a code with the right parameters.
    pub(crate) fn exchange_code(&self, code: &str) -> HttpResponse {
        self.exchange_code_with(code, &[])
    }

    /// Exchanges a code with these parameters in place of the right ones.
    pub(crate) fn exchange_code_with(&self, code: &str, other: &[(&str, &str)]) -> HttpResponse {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", Self::VERIFIER),
            ("resource", OAuthServer::RESOURCE),
        ];
        fields.retain(|(name, _)| !other.iter().any(|(known, _)| known == name));
        fields.extend(other.iter().filter(|(_, value)| !value.is_empty()));
        self.post("/oauth/token", &fields)
    }

    /// Exchanges a refresh token.
    pub(crate) fn refresh(&self, token: &Value) -> HttpResponse {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.as_str().unwrap()),
            ("client_id", &self.id),
        ];
        self.post("/oauth/token", &fields)
    }

    /// Revokes a token.
    pub(crate) fn revoke(&self, token: &Value) -> HttpResponse {
        let fields = [("token", token.as_str().unwrap()), ("client_id", &self.id)];
        self.post("/oauth/revoke", &fields)
    }

    /// Sends a form to an endpoint.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> HttpResponse {
        let request = self.server.request("POST", path).host(OAuthServer::HOST);
        request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(encode_form(fields))
            .send()
    }
}

/// An authorization request.
#[derive(Clone)]
pub(crate) struct AuthorizationUrl(Vec<(String, String)>);

impl AuthorizationUrl {
    pub(crate) fn new(client_id: &str, redirect_uri: &str) -> Self {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(OAuthClient::VERIFIER));
        let fields = [
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", redirect_uri),
            ("state", "a state & more"),
            ("scope", "read"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", OAuthServer::RESOURCE),
        ];
        Self(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }

    /// Replaces a parameter; an empty value removes it.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        if !value.is_empty() {
            self.0.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Returns path and query.
    pub(crate) fn path(&self) -> String {
        let fields: Vec<(&str, &str)> =
            self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        format!("/oauth/authorize?{}", encode_form(&fields))
    }
}

/// Returns the value of a field of a form in a page, as a browser reads it.
pub(crate) fn form_field(page: &str, name: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
    let value = rest.split('"').next()?;
    let value = value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    Some(value.replace("&amp;", "&"))
}

/// Returns a parameter of the address to which a response sends the browser.
pub(crate) fn location_parameter(response: &HttpResponse, name: &str) -> Option<String> {
    let address = Url::parse(response.header("location")?).ok()?;
    let mut pairs = address.query_pairs();
    pairs.find_map(|(known, value)| (known == name).then(|| value.into_owned()))
}

fn encode_form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}
