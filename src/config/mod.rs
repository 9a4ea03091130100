//! Every setting, typed, with a default that is safe to run.
//!
//! Only this room reads the environment. What the command line says comes
//! before the file, the file before the defaults.

mod auth;
mod collections;
mod embeddings;
mod limits;
mod machine;
mod secret;
mod server;
mod sessions;
mod settings;
mod storage;
mod tools;

pub use auth::{Auth, Jwt, JwtAlgorithm, KeySource, Mode, ResourceUrl};
pub use collections::{Chunking, Collection, Embedding, Folder};
pub use embeddings::{ApiBase, Embeddings, Provider};
pub use limits::Limits;
pub use machine::{claude_code_folder, codex_home, program};
pub use secret::{Secret, SecretError};
pub use server::Server;
pub use sessions::Sessions;
pub use settings::{ConfigError, Settings};
pub use storage::Storage;
pub use tools::{Shown, TextForm, ToolNames, Tools};
