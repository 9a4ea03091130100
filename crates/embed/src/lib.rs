//! Text embeddings: providers, retries and caches.
//!
//! [`Embeddings`] is the entry point for the rest of the program. Each provider implements
//! [`Embedder`] in a file of its own; `provider` lists them.

mod cache_key;
mod circuit_breaker;
mod document_cache;
mod embedder;
mod embeddings;
mod error;
mod http;
mod indexed_embeddings;
#[cfg(feature = "local-model")]
pub mod install;
mod known_models;
#[cfg(feature = "local-model")]
mod local;
#[cfg(not(feature = "local-model"))]
#[path = "missing_local.rs"]
mod local;
mod model_spec;
mod ollama;
mod openai;
mod provider;
mod query_cache;
mod retry;
mod retrying_embedder;
#[cfg(feature = "stub")]
mod stub;
mod unrelated;
mod vector;
mod voyage;

pub use embedder::{Embedder, Model, Purpose};
pub use embeddings::Embeddings;
pub use error::{EmbedError, SetupError};
pub use local::LocalEmbedder;
#[cfg(feature = "stub")]
pub use stub::StubEmbedder;
pub use unrelated::UnrelatedSimilarity;
