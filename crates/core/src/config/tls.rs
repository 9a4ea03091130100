//! Encryption of connections to databases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Encryption of a connection, named as in `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never encrypted.
    Disable,
    /// Encrypted if the server supports it.
    #[default]
    Prefer,
    /// Always encrypted; the certificate is not verified.
    Require,
    /// Always encrypted; the certificate and the host name are verified.
    VerifyFull,
}
