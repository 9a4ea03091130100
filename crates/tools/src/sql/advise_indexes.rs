//! `advise_indexes`: suggests indexes for statements, without creating any.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_health::advice::{
    self, AdviceMethod, AdvisedIndex, AdvisedStatement, IndexAdvice, StatementOutcome,
};
use vademecum_mcp::{RequestContext, Toolset};

use super::sql_call::{connect_profile, run_until_cancelled};
use crate::display::push_display;
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Maximum number of statements of one call.
const MAX_STATEMENTS: usize = 20;

/// Suggests indexes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdviseIndexes {
    /// Queries to examine, up to 20. Without any, the costliest recorded ones (`PostgreSQL`).
    #[serde(default)]
    statements: Vec<String>,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// Result of `advise_indexes`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AdviseIndexesOutput {
    /// Name of the profile.
    database: String,
    /// Source of the advice: `hypopg` if the planner was asked, or `plan`.
    method: AdviceMethod,
    /// Indexes that would help, which do not exist yet.
    indexes: Vec<AdvisedIndex>,
    /// Statements that were examined.
    statements: Vec<AdvisedStatement>,
}

impl Tool for AdviseIndexes {
    const NAME: &'static str = "advise_indexes";
    const TITLE: &'static str = "Suggest indexes";
    const DESCRIPTION: &'static str = "Suggest indexes that make queries of a database cheaper, \
        with the planner's estimate where hypopg is installed, else from the plan. Runs and \
        creates nothing; a person runs the suggested statements.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Output = AdviseIndexesOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        if self.statements.len() > MAX_STATEMENTS {
            let count = self.statements.len();
            let problem = format!("statements: has {count} items; pass at most {MAX_STATEMENTS}");
            return Err(CallError::Invalid(problem));
        }
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let advising = advice::advise_indexes(&connection, &self.statements);
        let IndexAdvice { method, indexes, statements } =
            run_until_cancelled(call, advising).await?;
        let database = connection.profile().name().to_owned();
        let output = AdviseIndexesOutput { database, method, indexes, statements };
        let text = services.text(|| output.render());
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl AdviseIndexesOutput {
    fn render(&self) -> String {
        let Self { database, method, indexes, statements } = self;
        let method = match method {
            AdviceMethod::Hypopg => "estimated by the planner with hypothetical indexes (hypopg)",
            AdviceMethod::Plan => "derived from plans only, without an estimate of the gain",
        };
        let mut page = format!("Index advice for {database}, {method}\n\n");
        if indexes.is_empty() {
            page.push_str("No index is suggested.\n");
        }
        for AdvisedIndex { sentence, suggestion, .. } in indexes {
            push_display(&mut page, format_args!("- {sentence}\n  {suggestion}\n"));
        }
        page.push_str("\nStatements:\n");
        for AdvisedStatement { number, query, outcome, sentence, .. } in statements {
            push_display(&mut page, format_args!("{number}. {query}\n"));
            if *outcome != StatementOutcome::Advice {
                push_display(&mut page, format_args!("   {sentence}\n"));
            }
        }
        page
    }
}
