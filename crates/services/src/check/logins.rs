//! Checks whether users can log in to the authorization server.

use std::path::Path;

use vademecum_core::config::{AuthMode, Settings};
use vademecum_oauth::AuthorizationServer;
use vademecum_store::Database;

use super::findings::CheckFindings;

/// Shows the address at which users log in to allow clients, and warns if none of them can: users of
/// a server for many have no password, and there is no outside provider.
pub(super) fn check_logins(settings: &Settings, data: &Path, findings: &mut CheckFindings) {
    let (auth, public_url) = (&settings.auth, &settings.server.public_url);
    let (true, Some(public_url)) = (auth.oauth, public_url) else { return };
    let place = "auth.oauth";
    if auth.mode == AuthMode::Single {
        findings.add_ok(place, &format!("{public_url}; `vademecum login` prints a link for it"));
        return;
    }
    if auth.oidc.is_some() {
        findings.add_ok(place, &format!("{public_url}; users log in at the outside provider"));
        return;
    }
    // A database that cannot be read is reported by the check of its file; a check creates none.
    let users = if data.join(Database::Server.file_name()).exists() {
        let user = settings.storage.user.parse().ok();
        let server =
            user.and_then(|user| AuthorizationServer::open(auth, public_url, data, &user).ok());
        let Some(Ok(users)) = server.map(|server| server.count_passwords()) else { return };
        users
    } else {
        0
    };
    if users == 0 {
        findings.add_warning(
            place,
            "no user can log in, because none has a password",
            "set one with `vademecum user password NAME`, or configure [auth.oidc]",
        );
    } else {
        findings.add_ok(place, &format!("{public_url}; users with a password: {users}"));
    }
}
