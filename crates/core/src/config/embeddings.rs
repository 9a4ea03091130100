//! What makes vectors of texts.

use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use secrecy::SecretString;
use serde::Deserialize;

use super::{Secret, SecretError, Unlock, machine};

/// What makes vectors of texts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embeddings {
    /// Who makes them.
    pub provider: Provider,
    /// The model; without one, the provider's usual one.
    pub model: Option<String>,
    /// The folder of a local model.
    pub folder: Option<PathBuf>,
    /// How long vectors are to be; without it, as long as the model makes them.
    pub dimensions: Option<NonZeroUsize>,
    /// Where the provider is; without it, at its own address.
    pub api_base: Option<ApiBase>,
    /// Where the provider's key is.
    pub api_key: Option<Secret>,
    /// What opens the key if it is encrypted: `[secrets]` says so.
    #[serde(skip)]
    pub unlock: Unlock,
    /// Whether texts and key may go to another machine unencrypted.
    pub allow_http: bool,
    /// How many texts go into one request.
    pub batch_size: NonZeroUsize,
    /// How long one request for documents may take, in milliseconds.
    pub timeout_ms: NonZeroU32,
    /// How long a query waits for its vector, in milliseconds.
    pub query_timeout_ms: NonZeroU32,
    /// How often a request is tried again that may succeed later.
    pub retries: u32,
    /// After so many failures in a row the provider is left alone for a while.
    pub breaker_failures: NonZeroU32,
    /// How long it is left alone, in milliseconds.
    pub breaker_pause_ms: NonZeroU32,
    /// How much room remembered vectors of documents may take, in MB; 0 remembers none.
    pub cache_mb: u32,
}

/// Who makes vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Nobody.
    #[default]
    #[serde(rename = "")]
    None,
    /// A model in a folder of this machine.
    Local,
    /// An Ollama server.
    Ollama,
    /// `OpenAI`, or a server that speaks as it does.
    #[serde(rename = "openai")]
    OpenAi,
    /// Voyage AI.
    Voyage,
    /// Hashes of words, for tests.
    Stub,
}

impl Provider {
    /// The variable that the provider's own programs read its key from.
    fn variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Voyage => Some("VOYAGE_API_KEY"),
            Self::None | Self::Local | Self::Ollama | Self::Stub => None,
        }
    }
}

/// The address of a provider as it is written. It may hold a password, which is
/// never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ApiBase(String);

impl ApiBase {
    /// The whole address.
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
            provider: Provider::None,
            model: None,
            folder: None,
            dimensions: None,
            api_base: None,
            api_key: None,
            unlock: Unlock::Nothing,
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
    /// How long one request for documents may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.get().into())
    }

    /// How long a query waits for its vector.
    pub fn query_timeout(&self) -> Duration {
        Duration::from_millis(self.query_timeout_ms.get().into())
    }

    /// How long a provider that fails is left alone.
    pub fn breaker_pause(&self) -> Duration {
        Duration::from_millis(self.breaker_pause_ms.get().into())
    }

    /// The provider's key, if one is set.
    ///
    /// The variable that the provider's own programs read counts only where the
    /// key goes to the provider itself: another address gets no key that was not
    /// meant for it.
    pub fn key(&self) -> Result<Option<SecretString>, SecretError> {
        match (&self.api_key, &self.api_base) {
            (Some(key), _) => key.read("embeddings.api_key", &self.unlock).map(Some),
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let text = self.provider.variable().and_then(machine::variable);
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
    fn providers_have_the_names_of_their_makers() {
        for (name, provider) in [
            ("", Provider::None),
            ("local", Provider::Local),
            ("ollama", Provider::Ollama),
            ("openai", Provider::OpenAi),
            ("voyage", Provider::Voyage),
            ("stub", Provider::Stub),
        ] {
            assert_eq!(read(&format!("provider = \"{name}\"")).unwrap().provider, provider);
        }
        assert!(read("provider = \"open_ai\"").is_err());
        assert!(read("batch_size = 0").is_err());
    }

    #[test]
    fn neither_key_nor_password_are_ever_shown() {
        let settings = read(
            "provider = \"openai\"\napi_key = \"sk-abc\"\n\
             api_base = \"https://ada:pass@word@host.example/v1\"",
        );
        let said = format!("{:?}", settings.unwrap());
        assert!(said.contains("***@host.example/v1"), "{said}");
        assert!(!said.contains("sk-abc") && !said.contains("pass"), "{said}");
    }

    #[test]
    fn another_address_gets_only_a_key_that_was_meant_for_it() {
        let elsewhere = read("provider = \"openai\"\napi_base = \"http://127.0.0.1:1\"").unwrap();
        assert!(elsewhere.key().unwrap().is_none());
    }
}
