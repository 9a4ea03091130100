//! `[embeddings]`: the embedding provider.

use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{PassphraseSource, SecretError, SecretRef, environment};

/// Embeddings, for semantic search. Full-text search does not need them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Embeddings {
    /// Provider of vectors. Texts leave this machine with `"openai"` and `"voyage"`, and if
    /// `api_base` refers to another machine.
    pub provider: EmbeddingProvider,
    /// Whether the provider `"stub"` is allowed. Only builds with the feature `stub` have it.
    pub allow_stub: bool,
    /// Model. Default: `nomic-embed-text` (ollama), `text-embedding-3-small` (openai) or `voyage-3`
    /// (voyage).
    #[schemars(example = "nomic-embed-text")]
    pub model: Option<String>,
    /// Folder of a local model: an encoder (BERT, XLM-RoBERTa, ModernBERT) or a static table (model2vec).
    #[schemars(example = "/srv/models/all-MiniLM-L6-v2")]
    pub folder: Option<PathBuf>,
    /// Base URL of the model repository for `vademecum model install`, which has the interface of
    /// Hugging Face. Default: `https://huggingface.co`.
    #[schemars(example = "https://models.example.org")]
    pub mirror: Option<ApiBase>,
    /// Dimensions of the vectors, for models that can shorten them. Default: the dimensions of the
    /// model.
    #[schemars(example = 512)]
    pub dimensions: Option<NonZeroUsize>,
    /// Base URL of the provider, such as `"http://localhost:1234/v1"`. Default: its official URL.
    #[schemars(example = "http://localhost:11434")]
    pub api_base: Option<ApiBase>,
    /// Secret with the API key: `"env:NAME"`, `"file:PATH"` (a file that only its owner can read),
    /// `"keyring:ACCOUNT"` or `"encrypted:PATH"` (see `[secrets]`). Default: `OPENAI_API_KEY` or
    /// `VOYAGE_API_KEY`, if the provider has its official URL.
    #[schemars(example = "file:/etc/vademecum/openai.key")]
    pub api_key: Option<SecretRef>,
    /// Passphrase of an encrypted key, taken from `[secrets]`.
    #[serde(skip)]
    pub unlock: PassphraseSource,
    /// Whether texts and the key may be sent unencrypted (http) to another machine.
    pub allow_http: bool,
    /// Number of texts per request.
    pub batch_size: NonZeroUsize,
    /// Timeout of a request for document vectors, in milliseconds.
    pub timeout_ms: NonZeroU32,
    /// Timeout of a request for the vector of a query, in milliseconds.
    pub query_timeout_ms: NonZeroU32,
    /// Maximum number of retries of a request that failed temporarily.
    pub retries: u32,
    /// Number of consecutive failures after which the provider is not called for a while.
    pub breaker_failures: NonZeroU32,
    /// Duration of this pause, in milliseconds.
    pub breaker_pause_ms: NonZeroU32,
    /// Maximum size of the cache of document vectors, in MB; 0 disables the cache.
    pub cache_mb: u32,
}

/// Provider of vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingProvider {
    /// No embeddings.
    #[default]
    #[serde(rename = "")]
    None,
    /// A model in a folder.
    Local,
    /// An Ollama server.
    Ollama,
    /// OpenAI, or a server with a compatible API.
    #[serde(rename = "openai")]
    OpenAi,
    /// Voyage AI.
    Voyage,
    /// Hashes of words, for tests.
    Stub,
}

impl EmbeddingProvider {
    /// Returns the environment variable that the provider's own tools read the key from.
    fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Voyage => Some("VOYAGE_API_KEY"),
            Self::None | Self::Local | Self::Ollama | Self::Stub => None,
        }
    }
}

/// Base URL of a provider. It may hold a password, so `Debug` hides the login.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ApiBase(String);

impl ApiBase {
    /// Returns the full URL, including the login.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiBase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.rsplit_once('@') {
            None => formatter.write_str(&self.0),
            Some((_, place)) => write!(formatter, "***@{place}"),
        }
    }
}

impl From<&str> for ApiBase {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Default for Embeddings {
    fn default() -> Self {
        Self {
            provider: EmbeddingProvider::None,
            allow_stub: false,
            model: None,
            folder: None,
            mirror: None,
            dimensions: None,
            api_base: None,
            api_key: None,
            unlock: PassphraseSource::Unset,
            allow_http: false,
            batch_size: NonZeroUsize::MIN.saturating_add(15),
            timeout_ms: NonZeroU32::MIN.saturating_add(19_999),
            query_timeout_ms: NonZeroU32::MIN.saturating_add(4_999),
            retries: 3,
            breaker_failures: NonZeroU32::MIN.saturating_add(4),
            breaker_pause_ms: NonZeroU32::MIN.saturating_add(29_999),
            cache_mb: 256,
        }
    }
}

impl Embeddings {
    /// Returns the timeout of a request for documents.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.get().into())
    }

    /// Returns the timeout of a query embedding.
    pub fn query_timeout(&self) -> Duration {
        Duration::from_millis(self.query_timeout_ms.get().into())
    }

    /// Returns the time for which the circuit breaker stays open.
    pub fn breaker_pause(&self) -> Duration {
        Duration::from_millis(self.breaker_pause_ms.get().into())
    }

    /// Reads the API key, if one is set.
    ///
    /// The environment variable of the provider applies only to its public address, so that no
    /// other server receives a key that was not meant for it.
    pub fn read_key(&self) -> Result<Option<SecretString>, SecretError> {
        match (&self.api_key, &self.api_base) {
            (Some(key), _) => key.read_secret("embeddings.api_key", &self.unlock).map(Some),
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let text = self.provider.key_variable().and_then(environment::text_variable);
                Ok(text.map(SecretString::from))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Embeddings, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn providers_are_parsed_by_name() {
        for (name, provider) in [
            ("", EmbeddingProvider::None),
            ("local", EmbeddingProvider::Local),
            ("ollama", EmbeddingProvider::Ollama),
            ("openai", EmbeddingProvider::OpenAi),
            ("voyage", EmbeddingProvider::Voyage),
            ("stub", EmbeddingProvider::Stub),
        ] {
            assert_eq!(read(&format!("provider = \"{name}\"")).unwrap().provider, provider);
        }
        assert!(read("provider = \"open_ai\"").is_err());
        assert!(read("batch_size = 0").is_err());
    }

    #[test]
    fn debug_output_hides_key_and_password() {
        let settings = read(
            "provider = \"openai\"\napi_key = \"sk-abc\"\n\
             api_base = \"https://ada:pass@word@host.example/v1\"",
        );
        let output = format!("{:?}", settings.unwrap());
        assert!(output.contains("***@host.example/v1"), "{output}");
        assert!(!output.contains("sk-abc") && !output.contains("pass"), "{output}");
    }

    #[test]
    fn custom_address_gets_only_configured_key() {
        let elsewhere = read("provider = \"openai\"\napi_base = \"http://127.0.0.1:1\"").unwrap();
        assert!(elsewhere.read_key().unwrap().is_none());
    }
}
