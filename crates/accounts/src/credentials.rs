//! Credentials of a request, not yet verified.

use std::net::IpAddr;

use secrecy::SecretString;

use super::CallerAccount;

/// Credentials that a request carries. Nothing is verified yet.
///
/// The token never appears in logs or in `Debug` output.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// API key or token of an identity provider.
    pub token: Option<SecretString>,
    /// User that a delegating key acts for.
    pub user: Option<String>,
    /// Access tags that a delegating key passes on, as a JSON array.
    pub tags: Option<String>,
    /// Address of the client. Without one, failed attempts are not counted.
    pub address: Option<IpAddr>,
    /// Account of the operating system that opened the connection.
    pub account: CallerAccount,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_debug_hides_token() {
        let token = Some("vdm_hush".into());
        let shown = format!("{:?}", Credentials { token, ..Credentials::default() });
        assert!(!shown.contains("hush"), "{shown}");
    }
}
