//! The way from a call to a database.

use std::time::Duration;

use crate::{actors::CallError, tools::Toolbox};
use vademecum_mcp::Call;
use vademecum_sql::{Connection, ErrorCode, SqlError};

/// How often it is looked whether anybody still waits.
const LOOK: Duration = Duration::from_millis(50);

/// The database of a profile that the caller may use; without a name, of the only
/// one that there is.
pub(super) async fn connect(
    toolbox: &Toolbox,
    call: &Call,
    profile: Option<&str>,
) -> Result<Connection, CallError> {
    let connecting = toolbox.databases().connect(&call.principal, profile);
    while_wanted(call, connecting).await
}

/// Does something for as long as somebody waits for it. What is left off is
/// cancelled on the server as well.
pub(in crate::tools) async fn while_wanted<T>(
    call: &Call,
    work: impl Future<Output = Result<T, SqlError>>,
) -> Result<T, CallError> {
    let mut looks = tokio::time::interval(LOOK);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(done?),
            _ = looks.tick() => if call.cancel.is_cancelled() {
                return Err(CallError::TooLate);
            },
        }
    }
}

/// An argument that must be there.
pub(super) fn required(name: &str, value: Option<String>) -> Result<String, CallError> {
    let value = value.filter(|value| !value.trim().is_empty());
    let missing = || {
        let reason = "argument_required";
        SqlError::new(ErrorCode::XsqlCfgInvalid, format!("{name} is required")).because(reason)
    };
    Ok(value.ok_or_else(missing)?)
}
