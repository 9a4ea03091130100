//! `database_activity`: lists the statements and locks of a database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_health::{ActivityKind, ActivityStatement, ServerProduct, list_activity};
use vademecum_mcp::{RequestContext, Toolset};

use super::sql_call::{connect_profile, run_until_cancelled};
use crate::display::push_display;
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Maximum number of listed statements.
const MAX_LIMIT: u32 = 100;

/// Lists statements.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseActivity {
    /// Statements that took the most time, that run now, or that wait for locks.
    kind: ActivityKindInput,
    /// Maximum number of statements, up to 100.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

fn default_limit() -> u32 {
    10
}

/// Kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ActivityKindInput {
    /// Statements that took the most time.
    Top,
    /// Statements that run now.
    Active,
    /// Sessions that wait for locks.
    Locks,
}

/// Result of `database_activity`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DatabaseActivityOutput {
    /// Name of the profile.
    database: String,
    /// Statements with their measures; literals are masked.
    statements: Vec<ActivityStatement>,
    /// Parts that the role of the profile cannot see.
    not_visible: Vec<String>,
}

impl Tool for DatabaseActivity {
    const NAME: &'static str = "database_activity";
    const TITLE: &'static str = "List running and costly statements";
    const DESCRIPTION: &'static str = "List the statements of a database that took the most time \
        (top), that run now (active) or that wait for locks (locks). Literals are masked.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Output = DatabaseActivityOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        if !(1..=MAX_LIMIT).contains(&self.limit) {
            let problem = format!("limit: is {}; pass a number from 1 to {MAX_LIMIT}", self.limit);
            return Err(CallError::Invalid(problem));
        }
        let kind = match self.kind {
            ActivityKindInput::Top => ActivityKind::Top,
            ActivityKindInput::Active => ActivityKind::Active,
            ActivityKindInput::Locks => ActivityKind::Locks,
        };
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let product = run_until_cancelled(call, ServerProduct::detect(&connection)).await?;
        let listing = list_activity(&connection, product, kind, self.limit);
        let list = run_until_cancelled(call, listing).await?;
        let output = DatabaseActivityOutput {
            database: connection.profile().name().to_owned(),
            statements: list.statements,
            not_visible: list.not_visible,
        };
        let text = services.text(|| output.render(kind));
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl DatabaseActivityOutput {
    fn render(&self, kind: ActivityKind) -> String {
        let mut page = format!("Database: {}\n", self.database);
        if self.statements.is_empty() {
            page.push_str(match kind {
                ActivityKind::Top => "\nNo statement has been counted yet.\n",
                ActivityKind::Active => "\nNo other session runs a statement.\n",
                ActivityKind::Locks => "\nNo session waits for a lock.\n",
            });
        }
        for (at, statement) in self.statements.iter().enumerate() {
            let ActivityStatement { sentence, query, measures } = statement;
            push_display(&mut page, format_args!("\n{}. {sentence}\n", at + 1));
            push_display(&mut page, format_args!("   {query}\n"));
            if let Some(blocking) = measures.get("blocking_query").and_then(|it| it.as_str()) {
                push_display(&mut page, format_args!("   blocked by: {blocking}\n"));
            }
        }
        for hidden in &self.not_visible {
            push_display(&mut page, format_args!("\nNot visible: {hidden}\n"));
        }
        page
    }
}
