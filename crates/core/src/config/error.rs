//! Errors of reading the settings.

use std::{fmt, path::PathBuf};

use super::{DatabaseLocationError, ListenAddress, SecretError};

/// The reason why the settings could not be read or do not allow the server to start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the settings in {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not valid TOML, or a setting is unknown or invalid.
    #[error("the settings in {} are invalid", path.display())]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// The error and its location.
        source: InvalidSetting,
    },
    /// A settings file that was found can be changed by another account.
    #[error(
        "{} can be changed by another account, so it is not read: make it your own (chmod go-w), or \
         name it with --config",
        .0.display()
    )]
    ForeignFile(PathBuf),
    /// An environment variable is invalid.
    #[error("the archive in the environment is invalid: {0}")]
    Environment(String),
    /// The address of the archive cannot be read.
    #[error("the address of the archive cannot be read")]
    ArchiveAddress(#[from] DatabaseLocationError),
    /// A secret of the archive cannot be read.
    #[error("the password of the archive cannot be read")]
    ArchivePassword(#[from] SecretError),
    /// This build cannot use an archive.
    #[error("the settings name an archive, but this program was built without PostgreSQL")]
    NoPostgres,
    /// The platform has no folder for application data.
    #[error("this machine has no folder for application data; name one with --data")]
    NoDataFolder,
    /// In single-user mode the server would listen on an address that other machines can reach.
    #[error(
        "{0} can be reached from other machines, but in single-user mode clients are not asked \
         for a key; listen on 127.0.0.1 or [::1], or set auth.mode to \"multi\""
    )]
    UnauthenticatedNetwork(ListenAddress),
    /// `mcp.enabled` is false.
    #[error("mcp.enabled is false; set it to true to serve clients")]
    McpDisabled,
    /// The authorization server has no address.
    #[error(
        "auth.oauth needs server.public_url, the address of this server as clients use it, such as \
         https://knowledge.example"
    )]
    NoPublicUrl,
    /// `auth.resource` is not the address that the authorization server issues tokens for.
    #[error(
        "auth.resource is `{0}`, but auth.oauth issues tokens for `{1}`: leave auth.resource out"
    )]
    OtherResource(String, String),
    /// `[auth.oidc]` is set without `auth.oauth`, or in single-user mode.
    #[error("[auth.oidc] needs auth.oauth = true and auth.mode = \"multi\"")]
    OidcWithoutOAuth,
    /// In single-user mode `vademecum mcp` would serve over HTTP without authentication.
    #[error(
        "mcp.transport is \"streamable_http\", but in single-user mode clients are not asked for a \
         key; set auth.mode to \"multi\", or mcp.transport to \"stdio\""
    )]
    UnauthenticatedHttp,
}

/// An invalid setting with its location. The line itself is not shown, because it may contain a
/// password.
#[derive(Debug)]
pub struct InvalidSetting {
    line: usize,
    column: usize,
    key: String,
    message: String,
}

impl InvalidSetting {
    pub(super) fn from_toml(text: &str, key: String, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let line = before.matches('\n').count() + 1;
        Self { line, column, key, message: error.message().trim_end().to_owned() }
    }

    /// Replaces the message by what a function of the key and the message returns.
    pub(super) fn explained(self, explain: impl FnOnce(&str, &str) -> String) -> Self {
        let message = explain(&self.key, &self.message);
        Self { message, ..self }
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, key, message } = self;
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        write!(out, "line {line}, column {column}: {key}{message}")
    }
}

impl std::error::Error for InvalidSetting {}
