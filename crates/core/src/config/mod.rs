//! Every setting, typed, with a default that is safe to run.
//!
//! Only this room reads the environment. What the command line says comes
//! before the file, the file before the defaults.

mod auth;
mod collections;
mod dsn;
mod embeddings;
mod engine;
mod keyring;
mod limits;
mod log;
mod machine;
mod mcp;
mod profiles;
mod sealed;
mod secret;
mod server;
mod sessions;
mod settings;
mod storage;
mod table;
mod telemetry;
mod tls;
mod tools;

pub use auth::{Auth, Jwt, JwtAlgorithm, KeySource, Mode, ResourceUrl};
pub use collections::{Chunking, Collection, Embedding, Folder};
pub use dsn::Parts;
pub use embeddings::{ApiBase, Embeddings, Provider};
pub use engine::Engine;
pub use keyring::KeyringError;
pub use limits::Limits;
pub use log::{Log, LogFormat};
pub use machine::{claude_code_folder, codex_home, platform, program, ssh_agent};
pub use mcp::{Mcp, Transport};
pub use profiles::{DatabaseServer, Place, PlaceError, Profile, ProfileName, Ssh};
pub use sealed::{SealError, seal};
pub use secret::{Secret, SecretError, Secrets, Unlock, Unshown};
pub use server::Server;
pub use sessions::Sessions;
pub use settings::{ConfigError, Settings, WrongSetting};
pub use storage::Storage;
pub use table::{Cursor, DocId, DocMap, Metadata, Part, Table, Text};
pub use telemetry::{OtlpEndpoint, Telemetry};
pub use tls::Tls;
pub use tools::{Shown, TextForm, ToolNames, Tools};
