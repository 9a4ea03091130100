//! Connects tool calls to databases: profile lookup, cancellation and required arguments.

use std::time::Duration;

use vademecum_actors::CallError;
use vademecum_mcp::RequestContext;
use vademecum_model::ContentOrigin;
use vademecum_sql::{ErrorCode, ProfileConnection, SqlError};

use crate::ToolServices;

/// Interval between checks for cancellation.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Connects to the database of a profile that the caller may use; without a name, to the default.
pub(super) async fn connect_profile(
    services: &ToolServices,
    call: &RequestContext,
    profile: Option<&str>,
) -> Result<ProfileConnection, CallError> {
    let connecting = services.databases.connect(&call.principal, profile);
    let connection = run_until_cancelled(call, connecting).await?;
    let profile = format_args!("profile:{}", connection.profile().name());
    call.items.record_all_of(ContentOrigin::Database, [profile]);
    Ok(connection)
}

/// Runs database work until it completes or the call is cancelled. Dropping the work also cancels
/// the statement on the database server.
pub(crate) async fn run_until_cancelled<T>(
    call: &RequestContext,
    work: impl Future<Output = Result<T, SqlError>>,
) -> Result<T, CallError> {
    let mut looks = tokio::time::interval(CANCEL_CHECK_INTERVAL);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done?),
            _ = looks.tick() => if call.cancel.is_cancelled() {
                return Err(CallError::DeadlineExceeded);
            },
        }
    }
}

/// Returns a required argument. Fails with `argument_required` if it is missing or blank.
pub(super) fn require_argument(name: &str, value: Option<String>) -> Result<String, CallError> {
    let value = value.filter(|value| !value.trim().is_empty());
    let missing = || {
        let reason = "argument_required";
        SqlError::new(ErrorCode::XsqlCfgInvalid, format!("{name} is required")).with_reason(reason)
    };
    Ok(value.ok_or_else(missing)?)
}

/// Returns the profile of a call whose contract requires one: the named one or, if the name is
/// missing or blank, the profile with `default = true`. Fails with `argument_required` if there is
/// none.
pub(super) fn require_profile(
    services: &ToolServices,
    call: &RequestContext,
    name: Option<String>,
) -> Result<String, CallError> {
    let name = name.filter(|name| !name.trim().is_empty());
    if name.is_none()
        && let Some(default) = services.databases.profiles().marked_default(&call.principal)?
    {
        return Ok(default.name().to_owned());
    }
    require_argument("profile", name)
}
