//! Custom tools of the settings: their definitions, and the check of each on its database.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::join_all;
use vademecum_core::{
    auth::Principal,
    config::{self, CustomToolName, Settings},
};
use vademecum_sql::{
    Column, Databases, ErrorCode, Profiles, SqlError,
    custom::{CustomStatement, DefinitionError},
};

/// State of a tool whose database has not answered.
const NOT_REACHABLE: &str = "not reachable yet";

/// A custom tool whose definition is valid.
#[derive(Clone, Debug)]
pub struct CustomTool {
    /// Name by which clients call the tool.
    pub name: CustomToolName,
    /// Definition in the settings.
    pub settings: config::CustomTool,
    /// Statement that a call runs.
    pub statement: Arc<CustomStatement>,
    /// Result of the check on the database.
    pub state: CheckState,
}

/// Result of the check of a custom tool on its database.
#[derive(Clone, Debug)]
pub enum CheckState {
    /// The database has not been reached; the error says why, if it was tried.
    Unchecked(Option<SqlError>),
    /// The database accepts the statement. Its columns, if they are known.
    Accepted(Option<Vec<Column>>),
}

/// Error in a custom tool of the settings.
#[derive(Debug, thiserror::Error)]
#[error("{}tools.custom.{name}.{definition}", place(file.as_ref()))]
pub struct CustomToolError {
    file: Option<PathBuf>,
    name: CustomToolName,
    definition: DefinitionError,
}

fn place(file: Option<&PathBuf>) -> impl fmt::Display {
    file.map(|file| format!("{}: ", file.display())).unwrap_or_default()
}

/// Returns the custom tools of the settings, ordered by name. No database is opened.
pub fn define_tools(
    settings: &Settings,
    profiles: &Profiles,
) -> Result<Vec<CustomTool>, CustomToolError> {
    let define = |(name, tool): (&CustomToolName, &config::CustomTool)| {
        let statement = CustomStatement::new(tool, profiles)
            .map_err(|error| tool_error(settings, name, error))?;
        Ok(CustomTool {
            name: name.clone(),
            settings: tool.clone(),
            statement: Arc::new(statement),
            state: CheckState::Unchecked(None),
        })
    };
    settings.tools.custom.iter().map(define).collect()
}

/// Checks the statements of those tools that were not checked yet on their databases, all at once
/// and at most for `timeout`. A database that cannot be reached is no error.
pub async fn check_tools(
    tools: &mut [CustomTool],
    databases: &Databases,
    owner: &Principal,
    timeout: Duration,
    settings: &Settings,
) -> Result<(), CustomToolError> {
    let unchecked = tools.iter_mut().filter(|tool| !tool.is_checked());
    let checks = unchecked.map(|tool| async move {
        let checked = tokio::time::timeout(timeout, tool.check(databases, owner)).await;
        match checked.unwrap_or_else(|_| Err(timeout_error(timeout))) {
            Ok(columns) => tool.state = CheckState::Accepted(columns),
            Err(error) if is_definition_error(&error) => {
                let message = format!("the database refuses it: {}", error.message);
                let error = DefinitionError { key: "statement".to_owned(), message };
                return Err(tool_error(settings, &tool.name, error));
            }
            Err(error) => tool.state = CheckState::Unchecked(Some(error)),
        }
        Ok(())
    });
    // Boxed, because the futures of database clients are large.
    Box::pin(join_all(checks)).await.into_iter().collect()
}

impl CustomTool {
    /// Returns the state for people: `ready`, or why the tool may not work yet.
    pub fn describe_state(&self) -> String {
        match &self.state {
            CheckState::Accepted(_) => "ready".to_owned(),
            CheckState::Unchecked(None) => NOT_REACHABLE.to_owned(),
            CheckState::Unchecked(Some(error)) => format!("{NOT_REACHABLE}: {}", error.message),
        }
    }

    /// Returns true if the database has accepted the statement.
    pub fn is_checked(&self) -> bool {
        matches!(self.state, CheckState::Accepted(_))
    }

    async fn check(
        &self,
        databases: &Databases,
        owner: &Principal,
    ) -> Result<Option<Vec<Column>>, SqlError> {
        let profile = self.statement.profile().name();
        let connection = databases.connect(owner, Some(profile)).await?;
        self.statement.describe(&connection).await
    }
}

fn tool_error(
    settings: &Settings,
    name: &CustomToolName,
    definition: DefinitionError,
) -> CustomToolError {
    CustomToolError { file: settings.file.clone(), name: name.clone(), definition }
}

fn timeout_error(timeout: Duration) -> SqlError {
    let seconds = timeout.as_secs();
    let message = format!("the database did not answer within {seconds} s");
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message)
}

/// Adds to an error of a call that the database of the tool is not reachable yet, if that is the reason.
pub fn explain_unreachable(error: SqlError) -> SqlError {
    match error.code {
        // Without a detail, the database is reached, but busy.
        ErrorCode::XsqlSshDialFailed | ErrorCode::XsqlDbConnectFailed if error.detail.is_some() => {
            let message = format!("{NOT_REACHABLE}: {}", error.message);
            SqlError { message, ..error }
        }
        _ => error,
    }
}

/// Returns true if the statement is at fault, not the way to the database or its load.
fn is_definition_error(error: &SqlError) -> bool {
    match error.code {
        ErrorCode::XsqlDbExecFailed => !error.is_temporary(),
        ErrorCode::XsqlRoBlocked => true,
        ErrorCode::XsqlCfgNotFound
        | ErrorCode::XsqlCfgInvalid
        | ErrorCode::XsqlSecretNotFound
        | ErrorCode::XsqlSshAuthFailed
        | ErrorCode::XsqlSshHostkeyMismatch
        | ErrorCode::XsqlSshDialFailed
        | ErrorCode::XsqlDbDriverUnsupported
        | ErrorCode::XsqlDbConnectFailed
        | ErrorCode::XsqlDbAuthFailed
        | ErrorCode::XsqlInternal => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_database_does_not_make_definition_wrong() {
        let failed = SqlError::new(ErrorCode::XsqlDbExecFailed, "no such column");
        assert!(is_definition_error(&failed));
        assert!(!is_definition_error(&failed.with_detail(&"temporary failure")));
        assert!(!is_definition_error(&timeout_error(Duration::from_secs(3))));
    }
}
