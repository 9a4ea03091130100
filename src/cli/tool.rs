//! `vademecum tool`.

use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, bail};
use clap::Subcommand;
use serde_json::{Map, Value, json, value::RawValue};
use vademecum_core::config::{self, CustomToolName, ParameterName, Settings};
use vademecum_services::{
    custom_tools::{CustomTool, CustomToolError, DefinedTools, check_tools, define_tools},
    text::sanitize,
};
use vademecum_sql::{Databases, ErrorCode, Parameter, SqlError, custom::ParameterRule};

use super::{
    common::CommonOptions,
    database::print_json_envelope,
    output::{print_error, print_json, print_line},
    profile::{ProfileAccess, report_failure},
    table_format,
};
use crate::registry;

/// Maximum time for the databases to check the listed tools.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// List and test the custom tools of the settings
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  vademecum tool list --config settings.toml
  vademecum tool test orders --config settings.toml --arg customer=7 --arg status=open
  vademecum tool test orders --config settings.toml --arg ids=1,2 --json

Exit codes are those of `vademecum query`.")]
pub(super) enum ToolCommand {
    /// List the custom tools: name, profile, mode, whether its database is ready, description
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a custom tool and print the statement, its values, the rows and the time
    Test {
        /// Name of the tool
        name: String,
        /// Argument of the tool; repeat it for each value of a list, or separate the values by commas,
        /// which texts may contain
        #[arg(long = "arg", value_name = "NAME=VALUE")]
        arguments: Vec<String>,
        /// Run a tool that writes
        #[arg(long)]
        write: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

impl ToolCommand {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let (Self::List { json } | Self::Test { json, .. }) = &self;
        let json = *json;
        // Boxed, because the futures of database clients are large.
        match Box::pin(self.execute(common)).await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => report_failure(&error, json),
        }
    }

    async fn execute(self, common: &CommonOptions) -> Result<()> {
        let settings = common.load_settings()?;
        match self {
            Self::List { json } => {
                let names: Vec<_> = settings.tools.custom.values().map(|it| &*it.profile).collect();
                let access = ProfileAccess::open(settings.clone(), &names)?;
                let defined = define_tools(&settings, &access.profiles, &program_tools());
                let DefinedTools { mut tools, wrong } = defined;
                let databases = Databases::new(Arc::clone(&access.profiles));
                check_tools(&mut tools, &databases, &access.owner, CHECK_TIMEOUT, &settings).await;
                list_tools(&listed_tools(&settings, &tools, &wrong), json)
            }
            Self::Test { name, arguments, write, json } => {
                let tools = &settings.tools.custom;
                let known = tools.iter().find(|(known, _)| known.as_str() == name);
                let Some((_, tool)) = known else {
                    let known: Vec<&str> = tools.keys().map(CustomToolName::as_str).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    bail!("there is no custom tool `{name}`; the settings have: {known}");
                };
                let access = ProfileAccess::open(settings.clone(), &[&tool.profile])?;
                let defined = define_tools(&settings, &access.profiles, &program_tools());
                let mut wrong = defined.wrong.into_iter();
                if let Some(error) = wrong.find(|error| error.name.as_str() == name) {
                    return Err(error.into());
                }
                let tool = defined.tools.into_iter().find(|tool| tool.name.as_str() == name);
                let tool = tool.ok_or_else(|| anyhow!("there is no custom tool `{name}`"))?;
                let arguments = arguments_object(&tool, &arguments)?;
                test_tool(&tool, &access, &arguments, write, json).await
            }
        }
    }
}

fn program_tools() -> Vec<&'static str> {
    registry::tools().iter().map(|tool| tool.entry().name).collect()
}

/// Line of `tool list`.
struct ListedTool<'a> {
    name: &'a str,
    settings: &'a config::CustomTool,
    state: String,
    parameters: Vec<&'a str>,
}

/// Returns all tools of the settings, ordered by name, each with its state.
fn listed_tools<'a>(
    settings: &'a Settings,
    tools: &'a [CustomTool],
    wrong: &'a [CustomToolError],
) -> Vec<ListedTool<'a>> {
    let sound = tools.iter().map(|tool| ListedTool {
        name: tool.name.as_str(),
        settings: &tool.settings,
        state: tool.describe_state(),
        parameters: tool.statement.parameters().iter().map(ParameterRule::name).collect(),
    });
    let wrong = wrong.iter().filter_map(|error| {
        let settings = settings.tools.custom.get(&error.name)?;
        Some(ListedTool {
            name: error.name.as_str(),
            settings,
            state: format!("wrong: {error}"),
            parameters: settings.parameters.keys().map(ParameterName::as_str).collect(),
        })
    });
    let mut listed: Vec<_> = sound.chain(wrong).collect();
    listed.sort_by_key(|tool| tool.name);
    listed
}

fn list_tools(tools: &[ListedTool<'_>], json: bool) -> Result<()> {
    if json {
        let listed = tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "title": tool.settings.title,
                "profile": tool.settings.profile,
                "mode": mode(tool.settings),
                "state": tool.state,
                "parameters": tool.parameters,
            })
        });
        return print_json(&listed.collect::<Vec<_>>());
    }
    if tools.is_empty() {
        print_error("the settings have no custom tool; config.example.toml has an example");
    }
    for tool in tools {
        let (profile, about) = (&tool.settings.profile, sanitize(&tool.settings.description));
        let (mode, state) = (mode(tool.settings), sanitize(&tool.state));
        print_line(&format!("{}\t{profile}\t{mode}\t{state}\t{about}", tool.name));
    }
    Ok(())
}

fn mode(settings: &config::CustomTool) -> &'static str {
    if settings.read_only { "read-only" } else { "read-write" }
}

/// Returns the arguments of the command line as a JSON object of texts, and of lists for those that
/// are repeated.
fn arguments_object(tool: &CustomTool, written: &[String]) -> Result<Box<RawValue>> {
    let mut arguments: Map<String, Value> = Map::new();
    for argument in written {
        let Some((name, value)) = argument.split_once('=') else {
            bail!("--arg {argument}: has no `=`; write --arg NAME=VALUE");
        };
        let rule = tool.statement.parameters().iter().find(|it| it.name() == name);
        let rule = rule.filter(|rule| rule.is_array());
        let values = || list_values(value, rule.is_some_and(ParameterRule::has_free_texts));
        match (arguments.get_mut(name), rule.is_some()) {
            (None, true) if !value.trim_start().starts_with('[') => {
                arguments.insert(name.to_owned(), values().into());
            }
            (None, _) => {
                arguments.insert(name.to_owned(), value.into());
            }
            (Some(Value::Array(known)), true) => known.extend(values()),
            (Some(_), _) => bail!("--arg {name} is given twice, but it is not a list"),
        }
    }
    Ok(RawValue::from_string(Value::from(arguments).to_string())?)
}

/// Returns the values of a list that are written with commas between them, unless a comma may be part
/// of a value.
fn list_values(written: &str, has_free_texts: bool) -> Vec<Value> {
    if has_free_texts {
        return vec![written.into()];
    }
    written.split(',').map(|value| value.trim().into()).collect()
}

async fn test_tool(
    tool: &CustomTool,
    access: &ProfileAccess,
    arguments: &RawValue,
    write: bool,
    json: bool,
) -> Result<()> {
    if !tool.settings.read_only && !write {
        let message = "this tool writes; run it again with --write to change the database";
        return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message).into());
    }
    let bound = tool.statement.bind(arguments).map_err(|why| anyhow!(why))?;
    let databases = Databases::new(Arc::clone(&access.profiles));
    let profile = tool.statement.profile().name();
    let connection = databases.connect(&access.owner, Some(profile)).await?;
    let begun = Instant::now();
    let done = tool.statement.run(&connection, &bound).await?;
    let milliseconds = begun.elapsed().as_secs_f64() * 1_000.0;
    let names: Vec<&str> = done.rows.columns.iter().map(|column| column.name.as_str()).collect();
    let values: Vec<Value> = bound.parameters.iter().map(parameter_json).collect();
    let affected = (!tool.settings.read_only).then_some(done.rows_affected);
    if json {
        return print_json_envelope(&json!({
            "tool": tool.name.as_str(), "profile": profile, "statement": bound.text,
            "values": values, "columns": names, "rows": done.rows.rows,
            "truncated": done.rows.truncated, "rows_affected": affected,
            "duration_ms": (milliseconds * 1_000.0).round() / 1_000.0,
        }));
    }
    print_line(&bound.text);
    for (number, value) in values.iter().enumerate() {
        print_line(&format!("  value {}: {value}", number + 1));
    }
    if !names.is_empty() {
        print_line(&table_format::format_table(&names, &done.rows.rows));
    }
    if let Some(affected) = affected {
        print_line(&format!("rows changed: {affected}"));
    }
    let truncated = if done.rows.truncated { ", more exist" } else { "" };
    print_line(&format!("{} rows{truncated}, {milliseconds:.1} ms", done.rows.rows.len()));
    Ok(())
}

fn parameter_json(parameter: &Parameter) -> Value {
    match parameter {
        Parameter::Null => Value::Null,
        Parameter::Integer(number) => json!(number),
        Parameter::Real(number) => json!(number),
        Parameter::Text(text) => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_split_at_commas_unless_texts_have_some() {
        assert_eq!(list_values("1, 2,3", false), [json!("1"), json!("2"), json!("3")]);
        assert_eq!(list_values("7", false), [json!("7")]);
        assert_eq!(list_values("a, b", true), [json!("a, b")]);
    }
}
