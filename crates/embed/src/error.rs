//! Errors of embedding. No message holds a key or the address of the provider, because messages are
//! passed on to clients.

use std::{path::PathBuf, time::Duration};

use vademecum_core::config::SecretError;

/// The reason why a text could not be embedded.
#[expect(missing_docs, reason = "the names of providers and models, and HTTP status codes")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The text is blank.
    #[error("the text is blank: there is nothing to embed")]
    Blank,
    /// The provider rejected the request; a retry would fail too.
    #[error("{provider} refused to embed this (HTTP {status}): {reason}")]
    Refused {
        provider: &'static str,
        status: u16,
        /// Message of the provider, shortened.
        reason: String,
    },
    /// The provider is overloaded or temporarily unavailable.
    #[error("{provider} cannot embed this right now (HTTP {status}): {reason}")]
    Busy {
        provider: &'static str,
        status: u16,
        /// Message of the provider, shortened.
        reason: String,
        /// Pause that the provider asked for (`Retry-After`), if any.
        retry_after: Option<Duration>,
    },
    /// The connection to the provider failed.
    #[error("{provider} cannot be reached: {reason}")]
    Unreachable {
        provider: &'static str,
        /// Description of the failure.
        reason: String,
    },
    /// The provider did not respond in time.
    #[error("{provider} did not answer within {} ms", limit.as_millis())]
    TimedOut {
        provider: &'static str,
        /// Timeout that was exceeded.
        limit: Duration,
    },
    /// The circuit breaker is open after too many failures in a row.
    #[error(
        "{provider} failed {failures} times in a row; next attempt in {} s",
        wait.as_millis().div_ceil(1_000)
    )]
    CircuitOpen {
        provider: &'static str,
        /// Number of failures in a row.
        failures: u32,
        /// Time until the next request is let through.
        wait: Duration,
    },
    /// The response cannot be used.
    #[error("the answer of {provider} cannot be used: {reason}")]
    Malformed {
        provider: &'static str,
        /// Description of the defect.
        reason: String,
    },
    /// The vectors do not have the expected number of dimensions.
    #[error(
        "{provider} made a vector of {found} dimensions where the model `{model}` is to have \
         {expected}; check embeddings.model and embeddings.dimensions"
    )]
    Dimensions {
        provider: &'static str,
        model: String,
        /// Expected number of dimensions.
        expected: usize,
        /// Number of dimensions of a vector in the response.
        found: usize,
    },
    /// The local model failed.
    #[error("the local model cannot be used: {0}")]
    LocalModel(String),
    /// The task that made the vector ended without a result.
    #[error("embedding was aborted; see the server log")]
    Aborted,
}

impl EmbedError {
    /// Returns `true` if a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Blank
            | Self::Refused { .. }
            | Self::CircuitOpen { .. }
            | Self::Malformed { .. }
            | Self::Dimensions { .. }
            | Self::LocalModel(_)
            | Self::Aborted => false,
        }
    }
}

/// The reason why no provider can be opened with the settings.
#[expect(missing_docs, reason = "the names of providers, features, hosts and folders")]
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The provider is not part of this build.
    #[error(
        "provider = \"{provider}\" is not part of this build; build it with the feature `{feature}`"
    )]
    NotBuiltIn { provider: &'static str, feature: &'static str },
    /// The provider for tests is not allowed.
    #[error(
        "provider = \"stub\" makes vectors without meaning, for tests; it needs allow_stub = true"
    )]
    StubNotAllowed,
    /// The secret with the key cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The provider needs a key and none is set.
    #[error(
        "embeddings.provider is \"{provider}\", which takes a key: set {variable}, or \
         embeddings.api_key to \"env:NAME\" or \"file:PATH\""
    )]
    NoKey {
        provider: &'static str,
        /// Environment variable that is read if `embeddings.api_key` is not set.
        variable: &'static str,
    },
    /// The key contains characters that are not allowed in an HTTP header.
    #[error("embeddings.api_key holds characters that are not allowed in a key")]
    InvalidKey,
    /// `embeddings.api_base` is not an HTTP address.
    #[error("embeddings.api_base must be an address such as https://embed.example/v1")]
    InvalidAddress,
    /// `embeddings.api_base` is an unencrypted address on another machine.
    #[error(
        "embeddings.api_base leads over http to {host}: use https, or set embeddings.allow_http \
         if the network in between is trusted"
    )]
    PlainHttp { host: String },
    /// The provider is `local`, but no folder is set.
    #[error(
        "embeddings.provider is \"local\", which needs a model: set its folder in embeddings.folder"
    )]
    NoFolder,
    /// The local model cannot be loaded.
    #[error("the model in {} cannot be used: {reason}", folder.display())]
    Folder {
        folder: PathBuf,
        /// Description of the defect.
        reason: String,
    },
}
