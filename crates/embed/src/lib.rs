//! Vectors of texts: who makes them, and what is remembered of them.
//!
//! [`Embeddings`] is what the rest of the program asks. Below it [`Embedder`] is
//! what a provider is, each in a file of its own; `provider` lists them.

mod breaker;
mod cache;
mod embedder;
mod embeddings;
mod error;
mod http;
mod key;
mod local;
mod models;
mod numbered;
mod ollama;
mod openai;
mod provider;
mod queries;
mod resilient;
mod retry;
mod stub;
mod vector;
mod voyage;
mod wanted;

pub use embedder::{Embedder, Model, Purpose};
pub use embeddings::Embeddings;
pub use error::{EmbedError, SetupError};
pub use local::Local;
pub use stub::Stub;
