//! Checks of the custom tools of the settings.

use std::{sync::Arc, time::Duration};

use vademecum_core::{auth::local_principal, config::Settings};
use vademecum_sql::{Databases, Profiles};

use super::findings::CheckFindings;
use crate::custom_tools::{CheckState, DefinedTools, check_tools, define_tools};

/// Maximum time for the database of a tool to answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// Has the database of each custom tool prepare its statement. A database that cannot be reached is
/// only a warning: its server may be temporarily down.
pub(super) async fn check_custom_tools(
    settings: &Settings,
    profiles: &Arc<Profiles>,
    program_tools: &[&str],
    findings: &mut CheckFindings,
) {
    let Ok(user) = settings.storage.user.parse() else { return };
    let (owner, databases) = (local_principal(user), Databases::new(Arc::clone(profiles)));
    let DefinedTools { tools, wrong } = define_tools(settings, profiles, program_tools);
    for error in wrong {
        let place = format!("custom tool {}", error.name);
        findings.add_error(&place, &error.to_string(), "correct the settings");
    }
    for tool in tools {
        let place = format!("custom tool {}", tool.name);
        let mut checked = [tool];
        check_tools(&mut checked, &databases, &owner, CHECK_TIMEOUT, settings).await;
        let [tool] = checked;
        match &tool.state {
            CheckState::Refused(error) => {
                findings.add_error(&place, &error.to_string(), "correct the statement");
            }
            CheckState::Accepted(_) => {
                findings.add_ok(&place, "the database accepts its statement");
            }
            CheckState::Unchecked(_) => {
                let what = tool.describe_state();
                findings.add_warning(&place, &what, "check again when the database can be reached");
            }
        }
    }
}
