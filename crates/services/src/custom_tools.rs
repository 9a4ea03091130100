//! Custom tools of the settings: their definitions, and the check of each on its database.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::join_all;
use vademecum_core::{
    auth::Principal,
    config::{self, CustomToolName, Settings},
};
use vademecum_sql::{Column, Databases, ErrorCode, Profiles, SqlError, custom::CustomStatement};

/// State of a tool whose database has not answered.
const NOT_REACHABLE: &str = "not reachable yet";

/// Custom tools of the settings. A wrong definition leaves the others as they are.
#[derive(Clone, Debug, Default)]
pub struct DefinedTools {
    /// Tools whose definitions are valid, ordered by name.
    pub tools: Vec<CustomTool>,
    /// Errors of the other definitions, ordered by name.
    pub wrong: Vec<CustomToolError>,
}

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
    /// The database refuses the statement, so the tool is not offered.
    Refused(CustomToolError),
}

/// Error in a custom tool of the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}tools.custom.{name}{problem}", place(file.as_ref()))]
pub struct CustomToolError {
    /// Name of the tool.
    pub name: CustomToolName,
    file: Option<PathBuf>,
    /// Key below that of the tool, if there is one, and the message.
    problem: String,
}

fn place(file: Option<&PathBuf>) -> impl fmt::Display {
    file.map(|file| format!("{}: ", file.display())).unwrap_or_default()
}

/// Returns the custom tools of the settings. The tools of the program have the names `program_tools`,
/// which no custom tool can have in any style. No database is opened.
pub fn define_tools(
    settings: &Settings,
    profiles: &Profiles,
    program_tools: &[&str],
) -> DefinedTools {
    let mut defined = DefinedTools::default();
    for (name, tool) in &settings.tools.custom {
        let taken = program_tools
            .iter()
            .find(|taken| taken.replace('.', "_").eq_ignore_ascii_case(name.as_str()));
        if let Some(taken) = taken {
            let problem =
                format!(": the program has a tool `{taken}`; give the custom tool another name");
            defined.wrong.push(CustomToolError::new(settings, name, problem));
            continue;
        }
        match CustomStatement::new(tool, profiles) {
            Ok(statement) => defined.tools.push(CustomTool {
                name: name.clone(),
                settings: tool.clone(),
                statement: Arc::new(statement),
                state: CheckState::Unchecked(None),
            }),
            Err(error) => {
                let problem = format!(".{error}");
                defined.wrong.push(CustomToolError::new(settings, name, problem));
            }
        }
    }
    defined
}

/// Checks the statements of those tools that their databases have not accepted yet, all at once and
/// at most for `timeout` each. A database that refuses one or cannot be reached leaves the others as
/// they are.
pub async fn check_tools(
    tools: &mut [CustomTool],
    databases: &Databases,
    owner: &Principal,
    timeout: Duration,
    settings: &Settings,
) {
    let unchecked = tools.iter_mut().filter(|tool| !tool.is_checked());
    let checks = unchecked.map(|tool| async move {
        let checked = tokio::time::timeout(timeout, tool.check(databases, owner)).await;
        tool.state = match checked.unwrap_or_else(|_| Err(timeout_error(timeout))) {
            Ok(columns) => CheckState::Accepted(columns),
            Err(error) if is_definition_error(&error) => {
                let problem = format!(".statement: the database refuses it: {}", error.message);
                CheckState::Refused(CustomToolError::new(settings, &tool.name, problem))
            }
            Err(error) => CheckState::Unchecked(Some(error)),
        };
    });
    // Boxed, because the futures of database clients are large.
    Box::pin(join_all(checks)).await;
}

impl CustomToolError {
    fn new(settings: &Settings, name: &CustomToolName, problem: String) -> Self {
        Self { name: name.clone(), file: settings.file.clone(), problem }
    }
}

impl CustomTool {
    /// Returns the state for people: `ready`, or why the tool does not work.
    pub fn describe_state(&self) -> String {
        match &self.state {
            CheckState::Accepted(_) => "ready".to_owned(),
            CheckState::Unchecked(None) => NOT_REACHABLE.to_owned(),
            CheckState::Unchecked(Some(error)) => format!("{NOT_REACHABLE}: {}", error.message),
            CheckState::Refused(error) => format!("wrong: {error}"),
        }
    }

    /// Returns true if the database has accepted the statement.
    pub fn is_checked(&self) -> bool {
        matches!(self.state, CheckState::Accepted(_))
    }

    /// Returns the error of the database, if it refuses the statement.
    pub fn refusal(&self) -> Option<&CustomToolError> {
        match &self.state {
            CheckState::Refused(error) => Some(error),
            CheckState::Unchecked(_) | CheckState::Accepted(_) => None,
        }
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
