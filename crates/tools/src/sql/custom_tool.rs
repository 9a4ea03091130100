//! Custom tools: tools of the settings that run one statement with parameters.

use std::{collections::HashMap, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json, value::RawValue};
use vademecum_actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{
    RequestContext, ToolAudience, ToolEffect, ToolEntry, ToolPresentation, ToolSchemas, Toolset,
    intern_tool_name,
};
use vademecum_services::custom_tools::{CheckState, CustomTool, explain_unreachable};
use vademecum_sql::{
    Column, Rows,
    custom::{CustomStatement, ParameterRule},
};

use super::{
    render::{tsv_cell, tsv_line},
    sql_call::{connect_profile, run_until_cancelled},
};
use crate::display::push_display;
use crate::{ToolOutput, ToolServices};

/// Result of a custom tool.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CustomToolOutput {
    /// Column names in order.
    columns: Vec<String>,
    /// Rows as objects.
    rows: Vec<RowObject>,
    /// Whether more rows exist that a limit kept back.
    truncated: bool,
    /// Number of changed rows, if the statement writes.
    rows_affected: Option<u64>,
}

/// Row whose members are in the order of the columns.
#[derive(Clone, Debug)]
struct RowObject {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl Serialize for RowObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.values.len()))?;
        for (name, value) in self.columns.iter().zip(&self.values) {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

/// Returns the entry of a custom tool for `tools/list`.
pub(crate) fn custom_tool_entry(tool: &CustomTool) -> ToolEntry {
    let settings = &tool.settings;
    let name = intern_tool_name(tool.name.as_str());
    let title = settings.title.clone().unwrap_or_else(|| tool.name.to_string());
    let profile = Arc::clone(tool.statement.profile());
    ToolEntry {
        name,
        title: title.into(),
        description: settings.description.clone().into(),
        toolset: Toolset::Custom,
        right: if settings.read_only { Right::Read } else { Right::Write },
        effect: match (settings.read_only, settings.destructive, settings.idempotent) {
            (true, _, _) => ToolEffect::Reads,
            (false, true, false) => ToolEffect::Unbounded,
            (false, true, true) => ToolEffect::Replaces,
            (false, false, false) => ToolEffect::Adds,
            (false, false, true) => ToolEffect::AddsOnce,
        },
        schemas: ToolSchemas {
            input: input_schema(&tool.statement),
            output: Some(output_schema(tool)),
        },
        presentation: ToolPresentation { app_uri: None, has_long_results: true },
        audience: ToolAudience::Only(Arc::new(move |principal| profile.is_visible_to(principal))),
    }
}

/// Runs the statement of a custom tool.
pub(crate) async fn run_custom_tool(
    statement: &CustomStatement,
    services: &ToolServices,
    arguments: &RawValue,
    call: &RequestContext,
) -> Result<ToolOutput<CustomToolOutput>, CallError> {
    let bound = statement.bind(arguments).map_err(CallError::Invalid)?;
    if !statement.is_read_only() && !services.may_write(call) {
        let message =
            "this tool writes, which the settings of the server or your key do not permit";
        return Err(CallError::Refused(message.to_owned()));
    }
    let connection = connect_profile(services, call, Some(statement.profile().name()));
    let connection = connection.await.map_err(explain_failure)?;
    let done = run_until_cancelled(call, statement.run(&connection, &bound)).await;
    let done = done.map_err(explain_failure)?;
    let rows_affected = (!statement.is_read_only()).then_some(done.rows_affected);
    let output = CustomToolOutput::new(done.rows, rows_affected);
    let text = services.text(|| output.render());
    Ok(ToolOutput { output, text, meta: None })
}

/// Says in an error of a database that cannot be reached that the tool works as soon as it can.
fn explain_failure(error: CallError) -> CallError {
    match error {
        CallError::Sql(error) => CallError::Sql(explain_unreachable(error)),
        other => other,
    }
}

fn input_schema(statement: &CustomStatement) -> Value {
    let parameters = statement.parameters().iter();
    let properties: Map<String, Value> =
        parameters.clone().map(|rule| (rule.name().to_owned(), rule.schema())).collect();
    let required: Vec<&str> =
        parameters.filter(|rule| rule.is_required()).map(ParameterRule::name).collect();
    let mut schema =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// Returns the schema of the result, with the columns if the database has told them. Their types
/// are those of the database: a number that JSON cannot hold exactly is a string.
fn output_schema(tool: &CustomTool) -> Value {
    let mut row = json!({ "type": "object" });
    if let CheckState::Accepted(Some(columns)) = &tool.state {
        let column = |column: &Column| {
            let about = match column.kind.as_str() {
                "" => json!({}),
                kind => json!({ "description": kind }),
            };
            (column.name.clone(), about)
        };
        let columns: Map<String, Value> = columns.iter().map(column).collect();
        row["properties"] = columns.into();
    }
    let mut schema = json!({
        "type": "object",
        "properties": {
            "columns": { "type": "array", "items": { "type": "string" } },
            "rows": { "type": "array", "items": row },
            "truncated": { "type": "boolean" },
        },
        "required": ["columns", "rows", "truncated"],
    });
    if !tool.settings.read_only {
        schema["properties"]["rows_affected"] = json!({ "type": "integer" });
    }
    schema
}

impl CustomToolOutput {
    fn new(rows: Rows, rows_affected: Option<u64>) -> Self {
        let columns = distinct_names(rows.columns);
        let shared: Arc<[String]> = columns.as_slice().into();
        let row = |values| RowObject { columns: Arc::clone(&shared), values };
        let truncated = rows.truncated;
        Self { columns, rows: rows.rows.into_iter().map(row).collect(), truncated, rows_affected }
    }

    /// Formats the rows as tab-separated lines below a line that counts them.
    fn render(&self) -> String {
        let mut page = match self.rows.len() {
            1 => "1 row".to_owned(),
            count => format!("{count} rows"),
        };
        if self.truncated {
            page.push_str("; a limit kept back further rows, so ask for less");
        }
        if let Some(affected) = self.rows_affected {
            push_display(&mut page, format_args!("; rows changed: {affected}"));
        }
        if !self.columns.is_empty() {
            push_display(
                &mut page,
                format_args!("\n\n{}", tsv_line(self.columns.iter().map(String::as_str))),
            );
        }
        for row in &self.rows {
            let cells: Vec<String> = row.values.iter().map(tsv_cell).collect();
            push_display(
                &mut page,
                format_args!("\n{}", tsv_line(cells.iter().map(String::as_str))),
            );
        }
        page
    }
}

/// Returns the column names. One that occurs again gets a number, so that no value is lost.
fn distinct_names(columns: Vec<Column>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for Column { name, .. } in columns {
        let mut distinct = name.clone();
        while names.contains(&distinct) {
            let count = counts.entry(name.clone()).or_insert(1);
            *count += 1;
            distinct = format!("{name}_{count}");
        }
        names.push(distinct);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_objects_in_column_order() {
        let column = |name: &str| Column { name: name.to_owned(), kind: String::new() };
        let rows = Rows {
            columns: vec![column("b"), column("a"), column("b")],
            rows: vec![vec![json!(1), json!("x\ty"), json!(null)]],
            truncated: true,
        };
        let output = CustomToolOutput::new(rows, Some(3));
        assert_eq!(
            serde_json::to_string(&output).unwrap(),
            "{\"columns\":[\"b\",\"a\",\"b_2\"],\"rows\":[{\"b\":1,\"a\":\"x\\ty\",\"b_2\":null}],\
             \"truncated\":true,\"rows_affected\":3}"
        );
        assert_eq!(
            output.render(),
            "1 row; a limit kept back further rows, so ask for less; rows changed: 3\n\n\
             b\ta\tb_2\n1\tx\\ty\t"
        );
    }
}
