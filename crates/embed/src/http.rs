//! HTTP requests to embedding providers. No error message holds the key or the address.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderValue, StatusCode, Uri};

use super::{EmbedError, Purpose, SetupError};
use vademecum_core::config::Embeddings;

/// Maximum size of a response for each text, in bytes; enough for about ten thousand numbers.
const MAX_RESPONSE_BYTES_PER_TEXT: u64 = 1 << 18;
/// Maximum number of bytes that are read of an error response.
const MAX_ERROR_BODY_BYTES: u64 = 1 << 16;
/// Maximum length of a provider's message in an error, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// The address and the key of a provider.
pub(super) struct Endpoint {
    provider: &'static str,
    url: String,
    key: Option<SecretString>,
    /// Texts to be masked in messages: the key, and the login in the address.
    secrets: Vec<SecretString>,
    agent: ureq::Agent,
    timeout: Duration,
    query_timeout: Duration,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates the endpoint for `path` below the address of the settings or, if they have none,
    /// below `usual`.
    ///
    /// Fails if the address is invalid, if it is unencrypted and on another machine without
    /// `allow_http`, or if the key cannot be read or sent.
    pub(super) fn open(
        settings: &Embeddings,
        provider: &'static str,
        usual: &str,
        path: &str,
    ) -> Result<Self, SetupError> {
        let base = settings.api_base.as_ref().map_or(usual, |base| base.as_str());
        let (is_here, mut secrets) = check_address(base, settings.allow_http)?;
        let key = settings.read_key()?;
        secrets.extend(key.clone());
        if key.as_ref().is_some_and(|key| HeaderValue::from_str(key.expose_secret()).is_err()) {
            return Err(SetupError::InvalidKey);
        }
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A redirect could send texts and key to another server.
            .max_redirects(0)
            .max_redirects_will_error(false);
        if is_here {
            // A proxy is not used for addresses on this machine.
            config = config.proxy(None);
        }
        Ok(Self {
            provider,
            url: format!("{}{path}", base.trim_end_matches('/')),
            key,
            secrets,
            agent: config.build().into(),
            timeout: settings.timeout(),
            query_timeout: settings.query_timeout(),
        })
    }

    /// Returns `true` if requests carry an API key.
    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Sends the request body `question` for `texts` texts and parses the response. The timeout
    /// depends on `purpose`.
    pub(super) fn request_embeddings<T: DeserializeOwned>(
        &self,
        question: &impl Serialize,
        texts: usize,
        purpose: Purpose,
    ) -> Result<T, EmbedError> {
        let body = serde_json::to_vec(question)
            .map_err(|_| self.malformed_response("the request could not be serialized"))?;
        let limit = match purpose {
            Purpose::Query => self.query_timeout,
            Purpose::Document => self.timeout,
        };
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {}", key.expose_secret()));
        }
        let request = request.config().timeout_global(Some(limit)).build();
        let mut answer =
            request.send(&body[..]).map_err(|error| self.transport_error(&error, limit))?;
        let status = answer.status();
        if !status.is_success() {
            let retry_after = parse_retry_after(answer.headers(), SystemTime::now());
            let error_body =
                answer.body_mut().with_config().limit(MAX_ERROR_BODY_BYTES).read_to_vec();
            return Err(self.status_error(status, &error_body.unwrap_or_default(), retry_after));
        }
        let max_bytes = MAX_RESPONSE_BYTES_PER_TEXT.saturating_mul(texts as u64 + 1);
        let body = answer.body_mut().with_config().limit(max_bytes).read_to_vec();
        let body = body.map_err(|error| self.transport_error(&error, limit))?;
        // The message of the JSON parser would quote the response.
        serde_json::from_slice(&body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.malformed_response(format!(
                "it is not the JSON that was expected (line {line}, column {column})"
            ))
        })
    }

    /// Returns the error for a response that cannot be used.
    pub(super) fn malformed_response(&self, reason: impl Into<String>) -> EmbedError {
        EmbedError::Malformed { provider: self.provider, reason: reason.into() }
    }

    fn status_error(
        &self,
        status: StatusCode,
        body: &[u8],
        retry_after: Option<Duration>,
    ) -> EmbedError {
        let (provider, code) = (self.provider, status.as_u16());
        let reason = match code {
            // Some providers quote the key in these responses.
            401 | 403 => "the key is missing or not accepted; check embeddings.api_key".to_owned(),
            300..=399 => "it redirects; set embeddings.api_base to the final address".into(),
            _ => self.error_message(body).unwrap_or_else(|| {
                status.canonical_reason().unwrap_or("no reason was given").to_lowercase()
            }),
        };
        match code {
            408 | 429 | 500.. => EmbedError::Busy { provider, status: code, reason, retry_after },
            _ => EmbedError::Refused { provider, status: code, reason },
        }
    }

    /// Returns the provider's error message on one line, with secrets masked.
    fn error_message(&self, body: &[u8]) -> Option<String> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let pointers = ["/error/message", "/error", "/detail", "/message"];
        let text = pointers.iter().find_map(|pointer| body.pointer(pointer)?.as_str())?;
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in &self.secrets {
            text = text.replace(secret.expose_secret(), "***");
        }
        (!text.is_empty()).then(|| text.chars().take(MAX_ERROR_CHARS).collect())
    }

    fn transport_error(&self, error: &ureq::Error, limit: Duration) -> EmbedError {
        use ureq::Error as E;
        let provider = self.provider;
        let reason = match error {
            E::Timeout(_) => return EmbedError::TimedOut { provider, limit },
            E::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                return EmbedError::TimedOut { provider, limit };
            }
            E::BodyExceedsLimit(_) => return self.malformed_response("it is too long"),
            E::RedirectFailed => {
                return self.status_error(StatusCode::PERMANENT_REDIRECT, b"", None);
            }
            E::Io(_)
            | E::HostNotFound
            | E::ConnectionFailed
            | E::Protocol(_)
            | E::Tls(_)
            | E::Rustls(_) => error.to_string(),
            // Messages of other errors may quote the address.
            _ => "the request could not be sent".to_owned(),
        };
        EmbedError::Unreachable { provider, reason }
    }
}

/// Checks the address. Returns whether it is on this machine, and the secrets in it.
fn check_address(base: &str, allow_http: bool) -> Result<(bool, Vec<SecretString>), SetupError> {
    let uri: Uri = base.parse().map_err(|_| SetupError::InvalidAddress)?;
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority())
    else {
        return Err(SetupError::InvalidAddress);
    };
    if uri.query().is_some() {
        return Err(SetupError::InvalidAddress);
    }
    let host = authority.host();
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    if scheme == "http" && !is_here && !allow_http {
        return Err(SetupError::PlainHttp { host: host.to_owned() });
    }
    let userinfo = authority.as_str().rsplit_once('@').map(|(userinfo, _)| userinfo);
    let password = userinfo.and_then(|userinfo| Some(userinfo.split_once(':')?.1));
    let secrets = [userinfo, password].into_iter().flatten().filter(|text| !text.is_empty());
    Ok((is_here, secrets.map(SecretString::from).collect()))
}

/// Returns the pause of a `Retry-After` header, given in seconds or as an HTTP date.
fn parse_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds.or_else(|| {
        let moment = httpdate::parse_http_date(text).ok()?;
        Some(moment.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::config::ApiBase;

    fn endpoint(base: &str) -> Result<Endpoint, SetupError> {
        let settings = Embeddings { api_base: Some(ApiBase::from(base)), ..Embeddings::default() };
        Endpoint::open(&settings, "openai", "", "/embeddings")
    }

    #[test]
    fn unencrypted_addresses_are_accepted_on_loopback_only() {
        for base in
            ["https://a.example/v1", "http://localhost:1/", "http://[::1]:1", "http://127.0.0.1"]
        {
            assert!(endpoint(base).is_ok(), "{base}");
        }
        for base in
            ["http://a.example", "http://localhost.evil.example", "http://127.0.0.1@a.example"]
        {
            assert!(matches!(endpoint(base), Err(SetupError::PlainHttp { .. })), "{base}");
        }
        for base in ["", "a.example", "ftp://a.example", "file:///etc", "https://a.example/?key=a"]
        {
            assert!(matches!(endpoint(base), Err(SetupError::InvalidAddress)), "{base}");
        }
        let settings = Embeddings {
            api_base: Some(ApiBase::from("http://a.example")),
            allow_http: true,
            ..Embeddings::default()
        };
        assert!(Endpoint::open(&settings, "ollama", "", "/api/embed").is_ok());
    }

    #[test]
    fn endpoint_joins_path_with_one_slash() {
        assert_eq!(
            endpoint("https://a.example/v1/").unwrap().url,
            "https://a.example/v1/embeddings"
        );
    }

    #[test]
    fn error_messages_hold_no_secret() {
        let mut endpoint = endpoint("https://ada:pa55word@a.example").unwrap();
        endpoint.secrets.push("sk-abc".into());
        let body = br#"{"error":{"message":"sk-abc\n of ada:pa55word, pa55word is wrong"}}"#;
        let error = endpoint.status_error(StatusCode::BAD_REQUEST, body, None);
        assert!(error.to_string().ends_with("*** of ***, *** is wrong"), "{error}");
        let error = endpoint.status_error(StatusCode::UNAUTHORIZED, br#"{"error":"sk-a**"}"#, None);
        assert!(error.to_string().contains("embeddings.api_key"), "{error}");
        assert!(!error.to_string().contains("sk-"), "{error}");
        let error = ureq::Error::BadUri("https://ada:pa55word@a.example".to_owned());
        let error = endpoint.transport_error(&error, Duration::ZERO);
        assert!(!format!("{error:?} {endpoint:?}").contains("pa55word"), "{error:?}");
    }

    #[test]
    fn only_transient_errors_are_retried() {
        let endpoint = endpoint("https://a.example").unwrap();
        for (status, passing) in [
            (400, false),
            (401, false),
            (404, false),
            (307, false),
            (408, true),
            (429, true),
            (500, true),
            (503, true),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                endpoint.status_error(status, b"", None).is_transient(),
                passing,
                "{status}"
            );
        }
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_or_date() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2015 07:20:00 GMT").unwrap();
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", HeaderValue::from_str(text).unwrap());
            parse_retry_after(&headers, now)
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_mins(8)));
        assert_eq!(wait("Wed, 21 Oct 2015 07:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("soon"), None);
        assert_eq!(parse_retry_after(&HeaderMap::new(), now), None);
    }
}
