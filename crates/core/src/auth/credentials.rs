//! What a request carries to show who sends it, as it came.

use std::net::IpAddr;

use secrecy::SecretString;

/// What a request carries to show who sends it. Nothing of it is believed yet.
///
/// The token is never written to a log, not by `Debug` either.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// An API key or a token of an identity provider.
    pub token: Option<SecretString>,
    /// Whom a delegating key speaks for.
    pub user: Option<String>,
    /// The access tags that a delegating key brings, as a JSON array.
    pub tags: Option<String>,
    /// Where it comes from; without one, failures are not counted.
    pub address: Option<IpAddr>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let token = Some("vdm_hush".into());
        let shown = format!("{:?}", Credentials { token, ..Credentials::default() });
        assert!(!shown.contains("hush"), "{shown}");
    }
}
