//! Typed settings, with defaults that are safe to run.
//!
//! The command line takes precedence over the settings file, and the file over the defaults. Only
//! this module reads the environment.

mod archive;
mod audit;
mod auth;
mod change_kind;
mod collections;
mod custom_tools;
mod database_location;
mod deny;
mod dsn;
mod embeddings;
mod encrypted_file;
mod engine;
mod environment;
mod error;
#[cfg(test)]
mod example;
mod folders;
mod import;
mod journal;
mod jwt;
mod keyring;
mod limits;
mod listen_address;
mod log;
mod mcp;
mod oidc;
mod profiles;
mod quotas;
mod secret;
mod server;
mod sessions;
mod setting_keys;
mod settings;
mod settings_file;
mod skills;
mod sqlite;
mod storage;
mod table;
mod telemetry;
mod tls;
mod tools;
mod trust;
mod url_template;
mod urls;
mod validation;

pub use archive::{Archive, SchemaName};
pub use audit::Audit;
pub use auth::{Auth, AuthMode, ClientDocuments, LocalAccess};
pub use change_kind::ChangeKind;
pub use collections::{Chunking, Collection, EmbeddingOptions, Folder};
pub use custom_tools::{CustomParameter, CustomTool, CustomToolName, ParameterKind, ParameterName};
pub use database_location::{DatabaseLocation, DatabaseLocationError, DatabaseServer};
pub use deny::Deny;
pub use dsn::DsnParts;
pub use embeddings::{ApiBase, EmbeddingProvider, Embeddings};
pub use encrypted_file::{EncryptedFileError, encrypt_secret};
pub use engine::Engine;
pub use environment::{
    called_program, child_program, claude_code_folder, codex_home, copilot_home, editor,
    first_argument, moved_agent_folders, platform, program_folders, secret_variable,
    ssh_agent_socket, time_zone, user_folders,
};
pub use error::{ConfigError, InvalidSetting};
pub use folders::{FollowedFolder, check_inner_folder};
pub use import::{Import, SandboxPolicy};
pub use journal::Journal;
pub use jwt::{Jwt, JwtAlgorithm, KeySource};
pub use keyring::KeyringError;
pub use limits::Limits;
pub use listen_address::{ListenAddress, ListenAddressError};
pub use log::{Log, LogFormat};
pub use mcp::{Mcp, Transport};
pub use oidc::Oidc;
pub use profiles::{Profile, ProfileName, Ssh};
pub use quotas::Quotas;
pub use secret::{PassphraseSource, RedactedText, SecretError, SecretRef, Secrets};
pub use server::Server;
pub use sessions::{RepeatedResults, Sessions};
pub use setting_keys::SettingKey;
pub use settings::Settings;
pub use settings_file::SettingsFiles;
pub use skills::Skills;
pub use sqlite::Sqlite;
pub use storage::Storage;
pub use table::{
    CollectionTable, CursorColumn, DocIdFormat, DocMap, MetadataMapping, TemplatePart, TextTemplate,
};
pub use telemetry::{OtlpEndpoint, Telemetry};
pub use tls::TlsMode;
pub use tools::{TextFormat, ToolNames, ToolVisibility, Tools};
pub use trust::TrustPattern;
pub use url_template::{UrlField, UrlTemplate};
pub use urls::{PublicUrl, ResourceUrl};
