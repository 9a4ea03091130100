//! The databases of the settings: what `vademecum profile doctor` finds.

use super::finding::Findings;
use crate::{
    app::App,
    cli::diagnosis::{Diagnosis, Finding},
};
use vademecum_core::auth::desktop;
use vademecum_sql::ErrorCode;

/// Looks at every profile. One that cannot be reached now is a warning: it is
/// somebody else's server.
pub(super) async fn look(app: &App, findings: &mut Findings) {
    let settings = app.settings();
    let Ok(user) = settings.storage.user.parse() else { return };
    let owner = desktop(user);
    for (name, written) in &settings.profiles {
        let name = name.as_str();
        let mut diagnosis = Diagnosis::of_settings(name, Some(written), settings.auth.mode);
        let place = format!("profile {name}");
        match app.profiles().get(&owner, name) {
            Ok(profile) => diagnosis.connect(&profile).await,
            Err(error) => findings.wrong(&place, &error.message, "name it in the settings"),
        }
        for finding in diagnosis.findings {
            match finding {
                Finding::Sound { what } => findings.sound(&place, &what),
                Finding::Wrong { code, what, .. } if is_of_settings(code) => {
                    findings.wrong(&place, &what, DOCTOR);
                }
                Finding::Unsafe { what } | Finding::Wrong { what, .. } => {
                    findings.warn(&place, &what, DOCTOR);
                }
            }
        }
    }
}

const DOCTOR: &str = "`vademecum profile doctor` says more";

/// Whether it is here that something must be changed.
fn is_of_settings(code: ErrorCode) -> bool {
    match code {
        ErrorCode::XsqlCfgNotFound
        | ErrorCode::XsqlCfgInvalid
        | ErrorCode::XsqlSecretNotFound
        | ErrorCode::XsqlInternal => true,
        ErrorCode::XsqlSshAuthFailed
        | ErrorCode::XsqlSshHostkeyMismatch
        | ErrorCode::XsqlSshDialFailed
        | ErrorCode::XsqlDbDriverUnsupported
        | ErrorCode::XsqlDbConnectFailed
        | ErrorCode::XsqlDbAuthFailed
        | ErrorCode::XsqlDbExecFailed
        | ErrorCode::XsqlRoBlocked => false,
    }
}
