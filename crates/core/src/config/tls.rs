//! Whether connections to databases are encrypted.

use serde::{Deserialize, Serialize};

/// Whether a connection is encrypted, in the words of `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// Never.
    Disable,
    /// If the server can.
    #[default]
    Prefer,
    /// Always, whoever the server is.
    Require,
    /// Always, and an authority vouches for the certificate and its name.
    VerifyFull,
}
