//! Client id metadata documents: a client without registration has the address of a document as its
//! id. The server fetches it, so the address must not lead into a private network.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use lru::LruCache;
use serde::Deserialize;
use ureq::unversioned::{resolver::DefaultResolver, transport::DefaultConnector};
use url::Url;
use vademecum_core::config::ClientDocuments;

use super::{
    Client, ClientKind, OAuthError, RedirectUri,
    client::{MAX_REDIRECT_URIS, clean_name},
    public_address::PublicResolver,
};

/// Timeout of one fetch, with name resolution.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 16 << 10;
/// Maximum length of an address, in bytes.
const MAX_URL_LENGTH: usize = 500;
/// Time for which a document is used without fetching it again.
const CACHE_TIME: Duration = Duration::from_mins(5);
/// Time for which a failed fetch is not repeated.
const FAILURE_CACHE_TIME: Duration = Duration::from_secs(30);
/// Maximum number of documents in memory.
const MAX_CACHED: NonZeroUsize = NonZeroUsize::new(200).unwrap();
/// Maximum number of concurrent fetches.
const MAX_FETCHES: usize = 4;

/// Fetches metadata documents and keeps them for a short time.
#[derive(Debug)]
pub(crate) struct MetadataDocuments {
    agent: ureq::Agent,
    permitted: ClientDocuments,
    cache: Mutex<LruCache<String, CachedDocument>>,
    running: AtomicUsize,
}

#[derive(Clone, Debug)]
struct CachedDocument {
    fetched_at: Instant,
    outcome: Result<Client, OAuthError>,
}

#[derive(Deserialize)]
struct Document {
    client_id: String,
    #[serde(default)]
    client_name: String,
    redirect_uris: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    client_secret: Option<serde::de::IgnoredAny>,
}

fn refuse(description: impl Into<String>) -> OAuthError {
    OAuthError::new("invalid_client", description)
}

impl MetadataDocuments {
    pub(crate) fn new(permitted: ClientDocuments) -> Self {
        let permits_private = permitted == ClientDocuments::All;
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(FETCH_TIMEOUT))
            .max_redirects(0)
            .max_redirects_will_error(true)
            .https_only(!permits_private)
            // A proxy would resolve the name itself, unchecked.
            .proxy(None)
            // No connection is kept: what a name means is checked for every fetch.
            .max_idle_connections(0)
            .build();
        let connector = DefaultConnector::default();
        let agent = if permits_private {
            ureq::Agent::with_parts(config, connector, DefaultResolver::default())
        } else {
            ureq::Agent::with_parts(config, connector, PublicResolver::default())
        };
        Self {
            agent,
            permitted,
            cache: Mutex::new(LruCache::new(MAX_CACHED)),
            running: AtomicUsize::new(0),
        }
    }

    /// Returns true if the settings permit documents as client ids.
    pub(crate) fn are_fetched(&self) -> bool {
        self.permitted != ClientDocuments::Off
    }

    /// Returns the client that the document at an address describes. Blocks while it is fetched.
    pub(crate) fn find(&self, id: &str) -> Result<Client, OAuthError> {
        if !self.are_fetched() {
            return Err(refuse("this server fetches no metadata documents: register the client"));
        }
        self.check_url(id)?;
        if let Some(known) = self.cached(id) {
            return known;
        }
        if self.running.fetch_add(1, Ordering::SeqCst) >= MAX_FETCHES {
            self.running.fetch_sub(1, Ordering::SeqCst);
            return Err(OAuthError::new("temporarily_unavailable", "too many clients: try again"));
        }
        let outcome = self.fetch(id);
        self.running.fetch_sub(1, Ordering::SeqCst);
        let kept = CachedDocument { fetched_at: Instant::now(), outcome: outcome.clone() };
        self.cache().put(id.to_owned(), kept);
        outcome
    }

    fn cache(&self) -> MutexGuard<'_, LruCache<String, CachedDocument>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cached(&self, id: &str) -> Option<Result<Client, OAuthError>> {
        let found = self.cache().get(id).cloned()?;
        let limit = if found.outcome.is_ok() { CACHE_TIME } else { FAILURE_CACHE_TIME };
        (found.fetched_at.elapsed() < limit).then_some(found.outcome)
    }

    /// Fails unless the address is one that a document may have: https with a path, in its normal
    /// form, so that it has one spelling.
    fn check_url(&self, id: &str) -> Result<(), OAuthError> {
        let wrong = || {
            refuse(
                "a client id that is an address is https, has a path, and has no user, fragment \
                    or dot segments",
            )
        };
        let url = Url::parse(id).ok().filter(|_| id.len() <= MAX_URL_LENGTH).ok_or_else(wrong)?;
        let has_scheme = match url.scheme() {
            "https" => true,
            "http" => {
                self.permitted == ClientDocuments::All
                    && url.host_str().is_some_and(is_this_machine)
            }
            _ => false,
        };
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && url.path() != "/"
            && url.as_str() == id;
        if has_scheme && is_plain { Ok(()) } else { Err(wrong()) }
    }

    fn fetch(&self, id: &str) -> Result<Client, OAuthError> {
        // The caller learns no more than this: an answer that differs would let a stranger look
        // around from here.
        let unavailable = || {
            refuse(
                "the metadata document of this client is not available: its address must be \
                    public, answer within 5 s and without redirect, with JSON of up to 16 KB",
            )
        };
        let response = self.agent.get(id).header("accept", "application/json").call();
        let mut response = response.map_err(|error| {
            tracing::info!(client = id, %error, "a metadata document could not be fetched");
            unavailable()
        })?;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if response.status() != 200 || !(kind == "application/json" || kind.ends_with("+json")) {
            return Err(unavailable());
        }
        let body = response.body_mut().with_config().limit(MAX_DOCUMENT_BYTES).read_to_vec();
        let body = body.map_err(|_| unavailable())?;
        let document = serde_json::from_slice(&body).map_err(|_| unavailable())?;
        read_document(id, document)
    }
}

fn is_this_machine(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

fn read_document(id: &str, document: Document) -> Result<Client, OAuthError> {
    if document.client_id != id {
        return Err(refuse("the client_id in the metadata document is not its address"));
    }
    let method = document.token_endpoint_auth_method.unwrap_or_default();
    if document.client_secret.is_some() || method.starts_with("client_secret") {
        return Err(refuse("a client with a metadata document has no secret"));
    }
    let uris = document.redirect_uris.iter().take(MAX_REDIRECT_URIS);
    // Addresses that are not supported here are of other uses of the client.
    let redirect_uris: Vec<RedirectUri> = uris.filter_map(|text| text.parse().ok()).collect();
    if redirect_uris.is_empty() {
        return Err(refuse("the metadata document names no supported redirect_uris"));
    }
    let name = clean_name(&document.client_name);
    Ok(Client { id: id.to_owned(), name, redirect_uris, kind: ClientKind::Document })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_url_has_one_spelling() {
        let documents = MetadataDocuments::new(ClientDocuments::Public);
        for good in ["https://a.example/client.json", "https://a.example:8443/a/b"] {
            assert!(documents.check_url(good).is_ok(), "{good}");
        }
        for wrong in [
            "http://a.example/client.json",
            "http://127.0.0.1/client.json",
            "https://a.example/",
            "https://a.example",
            "https://a.example/a/../b",
            "https://A.example/b",
            "https://a.example:443/b",
            "https://user@a.example/b",
            "https://a.example/b#c",
            "ftp://a.example/b",
        ] {
            assert!(documents.check_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn private_addresses_are_not_asked() {
        let documents = MetadataDocuments::new(ClientDocuments::Public);
        for id in ["https://127.0.0.1:1/c", "https://[::1]:1/c", "https://169.254.169.254/c"] {
            assert!(documents.fetch(id).is_err(), "{id}");
        }
    }

    #[test]
    fn document_must_name_its_address() {
        let document = |id: &str| Document {
            client_id: id.to_owned(),
            client_name: "Editor".to_owned(),
            redirect_uris: vec!["https://a.example/cb".to_owned(), "javascript:1".to_owned()],
            token_endpoint_auth_method: None,
            client_secret: None,
        };
        let url = "https://a.example/client.json";
        let client = read_document(url, document(url)).unwrap();
        assert_eq!((client.name.as_str(), client.redirect_uris.len()), ("Editor", 1));
        assert!(read_document(url, document("https://b.example/client.json")).is_err());
        let secret = Some("client_secret_post".to_owned());
        let document = Document { token_endpoint_auth_method: secret, ..document(url) };
        assert!(read_document(url, document).is_err());
    }
}
