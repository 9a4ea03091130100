//! `execute_explain`: how a database answers a query, and what might be better.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    asked::{connect, while_wanted},
    told::read_only,
};
use crate::{
    actors::CallError,
    tools::{Contract, Replied, Toolbox, text},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::plan::{Body, Explaining, Plan, PlanForm, explain};

/// Explains a query.
#[derive(Debug)]
pub struct ExecuteExplain;

/// Which query, and what is wanted to be known of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["query"]))]
pub struct ExecuteExplainInput {
    /// One SELECT, WITH, VALUES or TABLE.
    #[schemars(with = "String")]
    query: Option<String>,
    /// Run it, to measure it.
    #[serde(default = "yes")]
    analyze: bool,
    /// Tell which pages it needed (`PostgreSQL`).
    #[serde(default = "yes")]
    buffers: bool,
    /// How the plan is written.
    #[serde(default)]
    #[schemars(extend("default" = "text"))]
    format: PlanFormat,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

fn yes() -> bool {
    true
}

/// How a plan is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlanFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// A plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExecuteExplainOutput {
    /// The database.
    database: String,
    /// The query.
    query: String,
    /// Whether the query was run for it.
    analyzed: bool,
    /// The plan, as a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// The plan, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = ["array", "object"]))]
    plan_json: Option<Value>,
    /// What stands out.
    analysis: Vec<String>,
}

impl Contract for ExecuteExplain {
    const NAME: &'static str = "execute_explain";
    const TITLE: &'static str = "Explain a query";
    const DESCRIPTION: &'static str = "Show how a database runs a query, with what makes it slow. \
        Unless analyze is false, the query is run for it, in a read-only transaction.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Input = ExecuteExplainInput;
    type Output = ExecuteExplainOutput;

    async fn call(
        toolbox: &Toolbox,
        input: ExecuteExplainInput,
        call: &Call,
    ) -> Result<Replied<ExecuteExplainOutput>, CallError> {
        let query = input.query.filter(|query| !query.trim().is_empty());
        let query = query.ok_or_else(|| {
            CallError::Invalid("query: is required and must be a non-empty string".to_owned())
        })?;
        let connection = connect(toolbox, call, input.profile.as_deref()).await?;
        let form = match input.format {
            PlanFormat::Text => PlanForm::Text,
            PlanFormat::Json => PlanForm::Json,
        };
        let wanted = Explaining { analyze: input.analyze, buffers: input.buffers, form };
        let explained = while_wanted(call, explain(&connection, &query, wanted)).await;
        let Plan { is_analyzed, body, notes } = explained.map_err(read_only)?;
        let (plan, plan_json) = match body {
            Body::Text(text) => (Some(text), None),
            Body::Json(json) => (None, Some(json)),
        };
        let output = ExecuteExplainOutput {
            database: connection.profile().name().to_owned(),
            query: query.trim().to_owned(),
            analyzed: is_analyzed,
            plan,
            plan_json,
            analysis: notes,
        };
        let text = toolbox.text(|| output.text());
        Ok(Replied { output, text, meta: None })
    }
}

impl ExecuteExplainOutput {
    fn text(&self) -> String {
        let title = if self.analyzed { "EXPLAIN ANALYZE Results" } else { "EXPLAIN Results" };
        let mut page = String::new();
        heading(&mut page, title, "=");
        text::push(&mut page, format_args!("\nQuery: {}\n\n", self.query));
        heading(&mut page, "Execution Plan:", "-");
        if let Some(plan) = &self.plan {
            page.push_str(plan);
        }
        if let Some(plan) = &self.plan_json {
            text::push(&mut page, format_args!("{plan:#}"));
        }
        page.push_str("\n\n");
        heading(&mut page, "Analysis:", "-");
        let notes = self.analysis.iter().map(|note| format!("- {note}"));
        page.push_str(&notes.collect::<Vec<_>>().join("\n"));
        page
    }
}

/// A title, underlined.
fn heading(page: &mut String, title: &str, with: &str) {
    text::push(page, format_args!("{title}\n{}\n", with.repeat(title.chars().count())));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn explained(plan: Option<&str>, plan_json: Option<Value>) -> ExecuteExplainOutput {
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
    fn a_plan_stands_between_its_query_and_what_is_said_of_it() {
        assert_eq!(
            explained(Some("Result"), None).text(),
            "EXPLAIN ANALYZE Results\n=======================\n\nQuery: SELECT 1\n\n\
             Execution Plan:\n---------------\nResult\n\n\
             Analysis:\n---------\n- Nothing stands out in this plan"
        );
        let text = explained(None, Some(json!([{ "Plan": 1 }]))).text();
        assert!(text.starts_with("EXPLAIN Results\n===============\n"), "{text}");
        assert!(text.contains("---\n[\n  {\n    \"Plan\": 1\n  }\n]\n\nAnalysis:"), "{text}");
    }
}
