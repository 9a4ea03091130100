//! Checks whether clients behind a proxy can be told apart.

use vademecum_core::config::{AuthMode, Settings};

use super::findings::CheckFindings;

/// Warns if all clients of a server for many users come from one address: it listens on loopback,
/// so that a proxy on this machine forwards their requests, but no proxy is trusted to name their
/// addresses.
pub(super) fn check_proxies(settings: &Settings, findings: &mut CheckFindings) {
    let (auth, server) = (&settings.auth, &settings.server);
    if auth.mode == AuthMode::Multi && server.listen.is_local() && auth.trusted_proxies.is_empty() {
        findings.add_warning(
            "auth.trusted_proxies",
            "clients come through a proxy on this machine, and all have its address: failed logins \
             of one delay those of the others",
            "let the proxy send X-Forwarded-For, and set trusted_proxies = [\"127.0.0.1\"]",
        );
    }
}
