//! The first line in each direction of a connection to the local socket.

use std::io;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use vademecum_core::config::ToolNames;

/// Name of the socket in the data folder.
pub(super) const SOCKET_NAME: &str = "server.sock";
/// Maximum length of the first line, in bytes.
pub(super) const MAX_GREETING_BYTES: u64 = 4_096;

/// First line of a program.
#[derive(Clone, Debug, Deserialize)]
pub struct Greeting {
    /// Digest of the settings that the program has read.
    pub settings: String,
    /// Token of the data folder, if the settings require it.
    #[serde(default, deserialize_with = "deserialize_secret")]
    pub token: Option<SecretString>,
    /// Spelling of the listed tools; `None` for that of the settings.
    pub tool_names: Option<ToolNames>,
}

fn deserialize_secret<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(Into::into))
}

/// First line of the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GreetingReply {
    /// Messages may follow.
    Ready,
    /// The server does not serve this program, and says why.
    Refused(String),
}

/// The reason why a program does not use a running server.
#[derive(Debug, thiserror::Error)]
pub enum LocalServerError {
    /// No server runs in this data folder.
    #[error("no server runs in this data folder")]
    NoServer,
    /// The socket belongs to another account, or another account could replace it.
    #[error("the socket of the data folder is not that of this account")]
    ForeignSocket,
    /// The server refused the program.
    #[error("the running server refused: {0}")]
    Refused(String),
    /// The connection failed.
    #[error("the running server did not answer")]
    Failed(#[from] io::Error),
}

impl Greeting {
    /// Returns the line.
    pub(super) fn to_line(&self) -> String {
        #[derive(Serialize)]
        struct Line<'a> {
            settings: &'a str,
            token: Option<&'a str>,
            tool_names: Option<ToolNames>,
        }
        let token = self.token.as_ref().map(SecretString::expose_secret);
        let line = Line { settings: &self.settings, token, tool_names: self.tool_names };
        // Serialization of texts cannot fail; an empty line would be refused.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }
}
