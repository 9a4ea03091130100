//! Database profile checks: the findings of `vademecum profile doctor`.

use vademecum_core::{auth::local_principal, config::Settings};
use vademecum_sql::{ErrorCode, Profiles};

use super::{
    findings::CheckFindings,
    profile_diagnosis::{ProfileDiagnosis, ProfileFinding},
};

/// Checks every profile. A database that cannot be reached is only a warning: its server may be
/// temporarily down.
pub(super) async fn check_profiles(
    settings: &Settings,
    profiles: &Profiles,
    findings: &mut CheckFindings,
) {
    let Ok(user) = settings.storage.user.parse() else { return };
    let owner = local_principal(user);
    for (name, written) in &settings.profiles {
        let name = name.as_str();
        let mut diagnosis =
            ProfileDiagnosis::check_settings(name, Some(written), settings.auth.mode);
        let place = format!("profile {name}");
        match profiles.find_profile(&owner, name) {
            Ok(profile) => diagnosis.check_connection(&profile).await,
            Err(error) => findings.add_error(&place, &error.message, "add it to the settings"),
        }
        for finding in diagnosis.findings {
            match finding {
                ProfileFinding::Sound { what } => findings.add_ok(&place, &what),
                ProfileFinding::Wrong { code, what, .. } if is_settings_error(code) => {
                    findings.add_error(&place, &what, DOCTOR_HINT);
                }
                ProfileFinding::Unsafe { what } | ProfileFinding::Wrong { what, .. } => {
                    findings.add_warning(&place, &what, DOCTOR_HINT);
                }
            }
        }
    }
}

const DOCTOR_HINT: &str = "`vademecum profile doctor` has details";

/// Returns `true` if the remedy is a change of the settings.
fn is_settings_error(code: ErrorCode) -> bool {
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
