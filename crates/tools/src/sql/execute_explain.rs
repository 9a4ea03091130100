//! `execute_explain`: returns the execution plan of a query with notes on slow parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vademecum_actors::CallError;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::plan::{ExplainOptions, PlanBody, PlanFormat, QueryPlan, explain_query};

use super::{
    render::explain_read_only,
    sql_call::{connect_profile, run_until_cancelled},
};
use crate::display::push_display;
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Explains a query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["query"]))]
pub struct ExecuteExplain {
    /// One SELECT, WITH, VALUES or TABLE.
    #[schemars(with = "String")]
    query: Option<String>,
    /// Run and measure it.
    #[serde(default = "default_true")]
    analyze: bool,
    /// Include buffer use (`PostgreSQL`).
    #[serde(default = "default_true")]
    buffers: bool,
    /// Format of the plan.
    #[serde(default)]
    #[schemars(extend("default" = "text"))]
    format: PlanFormatInput,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

fn default_true() -> bool {
    true
}

/// Format of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlanFormatInput {
    /// Text for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// Result of `execute_explain`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExecuteExplainOutput {
    /// Name of the profile.
    database: String,
    /// The query.
    query: String,
    /// Whether the query was run.
    analyzed: bool,
    /// Plan as text.
    plan: Option<String>,
    /// Plan as JSON.
    #[schemars(extend("type" = ["array", "object"]))]
    plan_json: Option<Value>,
    /// Notes on expensive parts of the plan.
    analysis: Vec<String>,
}

impl Tool for ExecuteExplain {
    const NAME: &'static str = "execute_explain";
    const TITLE: &'static str = "Explain a query";
    const DESCRIPTION: &'static str = "Show how a database runs a query, with what makes it slow. \
        Unless analyze is false, the query is run for it, in a read-only transaction.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Output = ExecuteExplainOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let query = self.query.filter(|query| !query.trim().is_empty());
        let query = query.ok_or_else(|| {
            CallError::Invalid("query: is required and must be a non-empty string".to_owned())
        })?;
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let form = match self.format {
            PlanFormatInput::Text => PlanFormat::Text,
            PlanFormatInput::Json => PlanFormat::Json,
        };
        let options = ExplainOptions { analyze: self.analyze, buffers: self.buffers, format: form };
        let explained =
            run_until_cancelled(call, explain_query(&connection, &query, options)).await;
        let QueryPlan { is_analyzed, body, notes } = explained.map_err(explain_read_only)?;
        let (plan, plan_json) = match body {
            PlanBody::Text(text) => (Some(text), None),
            PlanBody::Json(json) => (None, Some(json)),
        };
        let output = ExecuteExplainOutput {
            database: connection.profile().name().to_owned(),
            query: query.trim().to_owned(),
            analyzed: is_analyzed,
            plan,
            plan_json,
            analysis: notes,
        };
        let text = services.text(|| output.render());
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl ExecuteExplainOutput {
    fn render(&self) -> String {
        let title = if self.analyzed { "EXPLAIN ANALYZE Results" } else { "EXPLAIN Results" };
        let mut page = String::new();
        push_heading(&mut page, title, "=");
        push_display(&mut page, format_args!("\nQuery: {}\n\n", self.query));
        push_heading(&mut page, "Execution Plan:", "-");
        if let Some(plan) = &self.plan {
            page.push_str(plan);
        }
        if let Some(plan) = &self.plan_json {
            push_display(&mut page, format_args!("{plan:#}"));
        }
        page.push_str("\n\n");
        push_heading(&mut page, "Analysis:", "-");
        let notes = self.analysis.iter().map(|note| format!("- {note}"));
        page.push_str(&notes.collect::<Vec<_>>().join("\n"));
        page
    }
}

/// Appends an underlined heading.
fn push_heading(page: &mut String, title: &str, with: &str) {
    push_display(page, format_args!("{title}\n{}\n", with.repeat(title.chars().count())));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample_output(plan: Option<&str>, plan_json: Option<Value>) -> ExecuteExplainOutput {
        ExecuteExplainOutput {
            database: "shop".to_owned(),
            query: "SELECT 1".to_owned(),
            analyzed: plan.is_some(),
            plan: plan.map(str::to_owned),
            plan_json,
            analysis: vec!["Nothing stands out in this plan".to_owned()],
        }
    }

    #[test]
    fn text_has_query_then_plan_then_analysis() {
        assert_eq!(
            sample_output(Some("Result"), None).render(),
            "EXPLAIN ANALYZE Results\n=======================\n\nQuery: SELECT 1\n\n\
             Execution Plan:\n---------------\nResult\n\n\
             Analysis:\n---------\n- Nothing stands out in this plan"
        );
        let text = sample_output(None, Some(json!([{ "Plan": 1 }]))).render();
        assert!(text.starts_with("EXPLAIN Results\n===============\n"), "{text}");
        assert!(text.contains("---\n[\n  {\n    \"Plan\": 1\n  }\n]\n\nAnalysis:"), "{text}");
    }
}
