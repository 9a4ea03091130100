//! Login through an outside `OpenID` Connect provider: the authorization code flow with PKCE, state
//! and nonce. The state of the login is encrypted and travels through the browser, so nothing is
//! stored for browsers that never come back.

use std::{
    fs, io,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};
use vademecum_accounts::{IdTokenVerifier, LoginClaims, ServerKey};
use vademecum_core::config::{Oidc, PublicUrl};
use vademecum_model::Timestamp;

use super::{Endpoint, OAuthError, ServerError, parameters::parse_parameters, secret::Secret};

/// Timeout of one request to the provider.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an answer of the provider, in bytes.
const MAX_ANSWER_BYTES: u64 = 256 << 10;
/// Maximum length of the query that the provider sends back, in bytes.
const MAX_QUERY_LENGTH: usize = 16_000;
/// Time for which the metadata of the provider is used without fetching it again.
const METADATA_LIFETIME: Duration = Duration::from_hours(1);
/// Minimum time between two fetches of the metadata.
const FETCH_PAUSE: Duration = Duration::from_secs(5);
/// Time that a user has for the login at the provider.
const LOGIN_TIME: Duration = Duration::from_mins(10);
/// Purpose in a sealed state, so that no other text that the server sealed passes for one.
const PURPOSE: &str = "oidc login";

/// Login through one provider.
#[derive(Debug)]
pub struct OidcLogin {
    settings: Oidc,
    callback: String,
    secret: Option<SecretString>,
    key: ServerKey,
    agent: ureq::Agent,
    provider: RwLock<Option<(Instant, Arc<Provider>)>>,
    /// Time of the last fetch of the metadata. Held during a fetch, so that there is one at a time.
    fetch: Mutex<Option<Instant>>,
}

/// Address to which the browser is sent, and the cookie that proves that it comes back.
#[derive(Debug)]
pub struct OidcRedirect {
    /// Address of the provider.
    pub url: String,
    /// Value that the browser must send back as a cookie; the state has its hash.
    pub cookie: String,
}

/// Metadata of the provider, and the verifier of its ID tokens.
#[derive(Debug)]
struct Provider {
    metadata: Metadata,
    verifier: IdTokenVerifier,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// Content of the sealed state.
#[derive(Serialize, Deserialize)]
struct SealedState {
    purpose: String,
    nonce: String,
    verifier: String,
    /// Hash of the cookie.
    browser: String,
    /// Query of the authorization request that the login interrupted.
    request: String,
    until: String,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

impl OidcLogin {
    /// Prepares the login. Asks nothing of the provider yet. Fails if the file with the secret cannot
    /// be read.
    pub(crate) fn open(
        settings: &Oidc,
        public_url: &PublicUrl,
        key: ServerKey,
    ) -> io::Result<Self> {
        let read = |path| fs::read_to_string(path).map(|text| SecretString::from(text.trim()));
        let secret = settings.client_secret_file.as_ref().map(read).transpose()?;
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(REQUEST_TIMEOUT))
            .max_redirects(0)
            .max_redirects_will_error(true);
        if settings.issuer.starts_with("http://") {
            // Plain HTTP is only used for loopback addresses, where a proxy is of no use.
            config = config.proxy(None);
        }
        Ok(Self {
            settings: settings.clone(),
            callback: public_url.join(Endpoint::ProviderCallback.path()),
            secret,
            key,
            agent: config.build().into(),
            provider: RwLock::default(),
            fetch: Mutex::default(),
        })
    }

    /// Returns the settings of the outside provider.
    pub fn settings(&self) -> &Oidc {
        &self.settings
    }

    /// Begins a login that interrupted an authorization request with this query. Asks the provider
    /// for its metadata at times; blocks.
    pub fn begin(&self, request: &str) -> Result<OidcRedirect, ServerError> {
        let provider = self.provider()?;
        let [nonce, verifier, cookie] =
            [Secret::generate()?, Secret::generate()?, Secret::generate()?];
        let until = Timestamp::now().plus(LOGIN_TIME).unwrap_or_else(Timestamp::now);
        let state = SealedState {
            purpose: PURPOSE.to_owned(),
            nonce: nonce.expose().to_owned(),
            verifier: verifier.expose().to_owned(),
            browser: hash(cookie.expose()),
            request: request.to_owned(),
            until: until.to_string(),
        };
        let state = serde_json::to_string(&state).unwrap_or_default();
        let state = self.key.seal(&state);
        let state = state.ok_or_else(|| provider_error("the request is too long"))?;
        let scopes = self.settings.scopes.iter().map(String::as_str);
        let scopes: Vec<&str> = ["openid"].into_iter().chain(scopes).collect();
        let mut url = Url::parse(&provider.metadata.authorization_endpoint)
            .map_err(|_| provider_error("its authorization_endpoint is not an address"))?;
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", &self.callback),
            ("scope", &scopes.join(" ")),
            ("state", &state),
            ("nonce", nonce.expose()),
            ("code_challenge", &hash(verifier.expose())),
            ("code_challenge_method", "S256"),
        ]);
        Ok(OidcRedirect { url: url.into(), cookie: cookie.expose().to_owned() })
    }

    /// Ends a login: exchanges the code in the answer of the provider and verifies its ID token.
    /// Returns what the provider says about the user, and the query of the interrupted request.
    pub async fn finish(
        self: &Arc<Self>,
        query: &str,
        cookie: &str,
    ) -> Result<Result<(LoginClaims, String), OAuthError>, ServerError> {
        let parameters = match parse_parameters(query.as_bytes(), MAX_QUERY_LENGTH) {
            Ok(parameters) => parameters,
            Err(error) => return Ok(Err(error)),
        };
        let get = |name: &str| parameters.get(name).map(String::as_str).unwrap_or_default();
        let state = self.open_state(get("state")).filter(|state| state.browser == hash(cookie));
        let Some(state) = state else {
            return Ok(Err(OAuthError::invalid_request(
                "this login was begun in another browser, or more than 10 minutes ago: begin again",
            )));
        };
        let issuer = parameters.get("iss");
        if issuer.is_some_and(|issuer| *issuer != self.settings.issuer) {
            return Ok(Err(OAuthError::invalid_request("the answer is of another provider")));
        }
        if !get("error").is_empty() || get("code").is_empty() {
            return Ok(Err(OAuthError::new("access_denied", "the provider refused the login")));
        }
        let (login, code) = (Arc::clone(self), get("code").to_owned());
        let verifier = state.verifier.clone();
        let fetched = tokio::task::spawn_blocking(move || {
            let provider = login.provider()?;
            let token = login.fetch_id_token(&provider, &code, &verifier)?;
            Ok::<_, ServerError>((provider, token))
        });
        let fetched = fetched.await.map_err(|_| provider_error("the request was aborted"))?;
        let (provider, token) = fetched?;
        let claims = provider.verifier.verify(&token, &state.nonce).await?;
        Ok(Ok((claims, state.request)))
    }

    fn open_state(&self, sealed: &str) -> Option<SealedState> {
        let state: SealedState = serde_json::from_str(&self.key.open_sealed(sealed)?).ok()?;
        let until = Timestamp::parse(&state.until).ok()?;
        (state.purpose == PURPOSE && until > Timestamp::now()).then_some(state)
    }

    /// Returns the provider, after a fetch of its metadata if that is old. While another caller
    /// fetches it, or a fetch has just failed, the old one is used, so that callers do not pile up.
    fn provider(&self) -> Result<Arc<Provider>, ServerError> {
        let kept = self.provider.read().unwrap_or_else(PoisonError::into_inner).clone();
        let is_fresh = |it: &(Instant, _)| it.0.elapsed() < METADATA_LIFETIME;
        if let Some((_, provider)) = kept.as_ref().filter(|it| is_fresh(it)) {
            return Ok(Arc::clone(provider));
        }
        let Ok(mut fetch) = self.fetch.try_lock() else {
            let old = kept.map(|(_, provider)| provider);
            return old.ok_or_else(|| provider_error("it is being asked: try again"));
        };
        if fetch.is_some_and(|at| at.elapsed() < FETCH_PAUSE) {
            let kept = self.provider.read().unwrap_or_else(PoisonError::into_inner).clone();
            let old = kept.map(|(_, provider)| provider);
            return old.ok_or_else(|| provider_error("it was not available just now: try again"));
        }
        *fetch = Some(Instant::now());
        let provider = Arc::new(self.fetch_provider()?);
        let mut kept = self.provider.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((Instant::now(), Arc::clone(&provider)));
        Ok(provider)
    }

    fn fetch_provider(&self) -> Result<Provider, ServerError> {
        let issuer = &self.settings.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let response = self.agent.get(&url).call();
        let metadata: Metadata = read_json(response)?;
        if metadata.issuer != *issuer {
            return Err(provider_error("its metadata names another issuer"));
        }
        let begins_like_issuer =
            |address: &str| address.starts_with("https://") || issuer.starts_with("http://");
        let addresses =
            [&metadata.authorization_endpoint, &metadata.token_endpoint, &metadata.jwks_uri];
        if !addresses.into_iter().all(|address| begins_like_issuer(address)) {
            return Err(provider_error("its metadata names addresses without https"));
        }
        let verifier = IdTokenVerifier::new(&self.settings, &metadata.jwks_uri);
        Ok(Provider { metadata, verifier })
    }

    fn fetch_id_token(
        &self,
        provider: &Provider,
        code: &str,
        verifier: &str,
    ) -> Result<String, ServerError> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.callback),
            ("code_verifier", verifier),
            ("client_id", &self.settings.client_id),
        ]);
        let methods = &provider.metadata.token_endpoint_auth_methods_supported;
        let supports = |method: &str| methods.iter().any(|known| known == method);
        let mut request = self
            .agent
            .post(&provider.metadata.token_endpoint)
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded");
        match &self.secret {
            Some(secret) if supports("client_secret_post") && !supports("client_secret_basic") => {
                form.append_pair("client_secret", secret.expose_secret());
            }
            Some(secret) => {
                let encode = |text: &str| -> String {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect()
                };
                let (id, secret) =
                    (encode(&self.settings.client_id), encode(secret.expose_secret()));
                let pair = BASE64_STANDARD.encode(format!("{id}:{secret}"));
                request = request.header("authorization", format!("Basic {pair}"));
            }
            None => {}
        }
        let answer: TokenAnswer = read_json(request.send(form.finish()))?;
        Ok(answer.id_token)
    }
}

fn read_json<T: serde::de::DeserializeOwned>(
    response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<T, ServerError> {
    let mut response = response.map_err(|error| provider_error(&error.to_string()))?;
    let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
    let body = body.map_err(|error| provider_error(&error.to_string()))?;
    serde_json::from_slice(&body).map_err(|error| provider_error(&error.to_string()))
}

fn provider_error(problem: &str) -> ServerError {
    ServerError::Provider(problem.to_owned())
}

/// Returns the SHA-256 hash as URL-safe base64: a code challenge, or the hash of a cookie.
fn hash(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
