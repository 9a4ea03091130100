//! Checks of the custom tools of the settings.

use std::{sync::Arc, time::Duration};

use vademecum_core::{auth::local_principal, config::Settings};
use vademecum_sql::{Databases, Profiles};

use super::findings::CheckFindings;
use crate::custom_tools::{CheckState, check_tools, define_tools};

/// Maximum time for the database of a tool to answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// Has the database of each custom tool prepare its statement. A database that cannot be reached is
/// only a warning: its server may be temporarily down.
pub(super) async fn check_custom_tools(
    settings: &Settings,
    profiles: &Arc<Profiles>,
    findings: &mut CheckFindings,
) {
    let Ok(user) = settings.storage.user.parse() else { return };
    let (owner, databases) = (local_principal(user), Databases::new(Arc::clone(profiles)));
    let tools = match define_tools(settings, profiles) {
        Ok(tools) => tools,
        Err(error) => {
            findings.add_error("custom tools", &error.to_string(), "correct the settings");
            return;
        }
    };
    for tool in tools {
        let place = format!("custom tool {}", tool.name);
        let mut checked = [tool];
        let done = check_tools(&mut checked, &databases, &owner, CHECK_TIMEOUT, settings).await;
        let [tool] = checked;
        match (done, &tool.state) {
            (Err(error), _) => {
                findings.add_error(&place, &error.to_string(), "correct the statement");
            }
            (Ok(()), CheckState::Accepted(_)) => {
                findings.add_ok(&place, "the database accepts its statement");
            }
            (Ok(()), CheckState::Unchecked(_)) => {
                let what = tool.describe_state();
                findings.add_warning(&place, &what, "check again when the database can be reached");
            }
        }
    }
}
