//! What can go wrong with vectors. No message holds a key or an address: they
//! are passed on to whoever calls.

use std::{path::PathBuf, time::Duration};

use vademecum_core::config::SecretError;

/// Why there is no vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// There is nothing to make a vector of.
    #[error("the text is blank: there is nothing to embed")]
    Blank,
    /// The provider does not want to, and would not want to if asked again.
    #[error("{provider} refused to embed this (HTTP {status}): {reason}")]
    Refused {
        /// Who.
        provider: &'static str,
        /// The status code.
        status: u16,
        /// What it said.
        reason: String,
    },
    /// The provider cannot right now.
    #[error("{provider} cannot embed this right now (HTTP {status}): {reason}")]
    Busy {
        /// Who.
        provider: &'static str,
        /// The status code.
        status: u16,
        /// What it said.
        reason: String,
        /// When it may be asked again, if it said so.
        retry_after: Option<Duration>,
    },
    /// Nobody answers where the provider should be.
    #[error("{provider} cannot be reached: {reason}")]
    Unreachable {
        /// Who.
        provider: &'static str,
        /// Why.
        reason: String,
    },
    /// The provider took too long.
    #[error("{provider} did not answer within {} ms", limit.as_millis())]
    TooLate {
        /// Who.
        provider: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// The provider failed too often, and is left alone.
    #[error(
        "{provider} failed {failures} times in a row and is left alone; it is tried again in {} s",
        wait.as_millis().div_ceil(1_000)
    )]
    Resting {
        /// Who.
        provider: &'static str,
        /// How often.
        failures: u32,
        /// For how long still.
        wait: Duration,
    },
    /// The answer is not what it should be.
    #[error("the answer of {provider} cannot be used: {reason}")]
    Malformed {
        /// Who.
        provider: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The vectors are not as long as they should be.
    #[error(
        "{provider} made a vector of {found} dimensions where the model `{model}` is to have \
         {expected}; check embeddings.model and embeddings.dimensions"
    )]
    Dimensions {
        /// Who.
        provider: &'static str,
        /// With which model.
        model: String,
        /// How long they should be.
        expected: usize,
        /// How long one is.
        found: usize,
    },
    /// The local model does not work.
    #[error("the local model cannot be used: {0}")]
    Model(String),
    /// The work was broken off.
    #[error("embedding was broken off; the server's log says why")]
    BrokenOff,
}

impl EmbedError {
    /// Whether the same may succeed later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Unreachable { .. } | Self::TooLate { .. } => true,
            Self::Blank
            | Self::Refused { .. }
            | Self::Resting { .. }
            | Self::Malformed { .. }
            | Self::Dimensions { .. }
            | Self::Model(_)
            | Self::BrokenOff => false,
        }
    }
}

/// Why nobody could make vectors with these settings.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The key cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// There is no key.
    #[error(
        "embeddings.provider is \"{provider}\", which takes a key: set {variable}, or \
         embeddings.api_key to \"env:NAME\" or \"file:PATH\""
    )]
    NoKey {
        /// For whom.
        provider: &'static str,
        /// Where it was looked for.
        variable: &'static str,
    },
    /// The key cannot be sent.
    #[error("the key of embeddings.api_key holds letters that no key has")]
    BadKey,
    /// The address is none.
    #[error("embeddings.api_base must be an address such as https://embed.example/v1")]
    NoAddress,
    /// The address is on another machine, and everybody on the way could read along.
    #[error(
        "embeddings.api_base leads over http to {host}: use https, or set embeddings.allow_http \
         if nobody else can read along on the way"
    )]
    PlainHttp {
        /// Which machine.
        host: String,
    },
    /// There is no folder to take the model from.
    #[error(
        "embeddings.provider is \"local\", which takes a model: name its folder in embeddings.folder"
    )]
    NoFolder,
    /// The local model cannot be used.
    #[error("the model in {} cannot be used: {reason}", folder.display())]
    Folder {
        /// Where it is.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}
