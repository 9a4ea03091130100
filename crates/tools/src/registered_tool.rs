//! The type-erased form of a tool, which the registry lists and calls.

use std::{fmt, sync::Arc};

use futures_util::future::LocalBoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use vademecum_actors::{CallError, StoreFault};
use vademecum_mcp::{
    CallToolResult, ContentBlock, Failure, RequestContext, ToolAudience, ToolEntry,
    ToolPresentation, ToolSchemas, Toolset,
};
use vademecum_model::ContentOrigin;
use vademecum_services::custom_tools::CustomTool;
use vademecum_sql::{ErrorCode, SqlError, custom::CustomStatement};

use super::{
    ToolServices,
    arguments::{parse_lenient, parse_strict},
    safe_text, schema,
    sql::{custom_tool_entry, run_custom_tool},
};
use crate::failure::to_failure;
use crate::tool::{ErrorFormat, SCHEMA_VERSION, Tool, ToolOutput};

/// Longest text, in bytes, whose structured output is serialized on the event loop. Below this
/// size, serializing costs less than a handover to the blocking pool.
const MAX_INLINE_TEXT_BYTES: usize = 16 * 1_024;

type ToolFn = for<'a> fn(
    &'a ToolServices,
    &'a RawValue,
    &'a Value,
    &'a RequestContext,
) -> LocalBoxFuture<'a, Result<CallToolResult, CallError>>;

/// A tool with its types erased, ready to be listed and called.
#[derive(Clone)]
pub struct RegisteredTool {
    entry: ToolEntry,
    error_format: ErrorFormat,
    runner: ToolRunner,
}

/// Code that a call runs.
#[derive(Clone)]
enum ToolRunner {
    /// A tool of the program.
    BuiltIn(ToolFn),
    /// A tool of the settings.
    Custom(Arc<CustomStatement>),
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tool").field("name", &self.entry.name).finish_non_exhaustive()
    }
}

impl RegisteredTool {
    /// Erases the types of `T` and generates its schemas.
    pub fn new<T: Tool>() -> Self {
        let mut input = schema::input_schema::<T>();
        if T::TOOLSET == Toolset::DeepResearch {
            // The contract of deep-research clients requires exactly this schema.
            input["additionalProperties"] = false.into();
        }
        let entry = ToolEntry {
            name: T::NAME,
            title: T::TITLE.into(),
            description: T::DESCRIPTION.into(),
            toolset: T::TOOLSET,
            right: T::REQUIRED_RIGHT,
            effect: T::EFFECT,
            schemas: ToolSchemas { input, output: Some(schema::output_schema::<T::Output>()) },
            audience: ToolAudience::Everyone,
            presentation: ToolPresentation {
                app_uri: T::APP_URI,
                has_long_results: T::HAS_LONG_RESULTS,
            },
        };
        Self {
            entry,
            error_format: T::ERROR_FORMAT,
            runner: ToolRunner::BuiltIn(|services, arguments, schema, call| {
                Box::pin(run_tool::<T>(services, arguments, schema, call))
            }),
        }
    }

    /// Creates a tool of the settings.
    pub fn custom(tool: &CustomTool) -> Self {
        Self {
            entry: custom_tool_entry(tool),
            error_format: ErrorFormat::Text,
            runner: ToolRunner::Custom(Arc::clone(&tool.statement)),
        }
    }

    /// Returns the entry for `tools/list`.
    pub fn entry(&self) -> &ToolEntry {
        &self.entry
    }

    /// Calls the tool and converts an error to the tool's [`ErrorFormat`].
    pub async fn call(
        &self,
        services: &ToolServices,
        arguments: &RawValue,
        call: &RequestContext,
    ) -> Result<CallToolResult, Failure> {
        let answer = match &self.runner {
            ToolRunner::BuiltIn(run) => {
                run(services, arguments, &self.entry.schemas.input, call).await
            }
            ToolRunner::Custom(statement) => {
                match run_custom_tool(statement, services, arguments, call).await {
                    Ok(output) => {
                        let is_cleaned = services.cleans_text;
                        finish_output(output, None, self.entry.name, is_cleaned, services, call)
                            .await
                    }
                    Err(error) => Err(error),
                }
            }
        };
        match (self.error_format, answer) {
            (
                ErrorFormat::Text
                | ErrorFormat::TextOrResourceError
                | ErrorFormat::CodedJson
                | ErrorFormat::Envelope,
                Ok(answer),
            ) => Ok(answer),
            (ErrorFormat::JsonRpcError, Ok(answer)) => {
                Ok(CallToolResult { is_flattened: true, ..answer })
            }
            (ErrorFormat::TextOrResourceError, Err(error @ CallError::NotFound(_))) => {
                Err(to_failure(&error))
            }
            (ErrorFormat::Text | ErrorFormat::TextOrResourceError, Err(error)) => {
                let text = services.clean(error.to_string(), safe_text::clean_string);
                Ok(CallToolResult::tool_error(text))
            }
            (ErrorFormat::CodedJson, Err(error)) => {
                let text = services.clean(coded_error(&error), safe_text::clean_json_string);
                Ok(CallToolResult::tool_error(text))
            }
            (ErrorFormat::Envelope, Err(error)) => {
                let text = services.clean(envelope_error(error), safe_text::clean_json_string);
                Ok(CallToolResult::tool_error(text))
            }
            (ErrorFormat::JsonRpcError, Err(error)) => Err(json_rpc_error(self.entry.name, &error)),
        }
    }
}

/// Formats an error as `{"error": {"code", "message"}}`.
fn coded_error(error: &CallError) -> String {
    let code = match error {
        CallError::Invalid(_) | CallError::UnknownSession(_) => "INVALID_ARGUMENT",
        CallError::LimitExceeded(_) => "LIMIT_EXCEEDED",
        CallError::NotConfigured(_) => "NOT_CONFIGURED",
        CallError::NotFound(_) => "NOT_FOUND",
        CallError::Refused(_) => "FAILED_PRECONDITION",
        CallError::DeadlineExceeded | CallError::Store(StoreFault::Fetching(_)) => {
            "DEADLINE_EXCEEDED"
        }
        CallError::Sql(error) => return json!({ "error": error.to_json() }).to_string(),
        CallError::AllSourcesFailed(_) | CallError::Store(_) | CallError::Unavailable => "INTERNAL",
    };
    json!({ "error": { "code": code, "message": error.to_string() } }).to_string()
}

/// Formats an error in the envelope of `query`.
fn envelope_error(error: CallError) -> String {
    let error = match error {
        CallError::Sql(error) => error,
        CallError::Unavailable | CallError::Store(_) | CallError::AllSourcesFailed(_) => {
            SqlError::new(ErrorCode::XsqlInternal, error.to_string())
        }
        CallError::DeadlineExceeded => {
            SqlError::new(ErrorCode::XsqlDbExecFailed, error.to_string())
        }
        CallError::Invalid(_)
        | CallError::NotFound(_)
        | CallError::LimitExceeded(_)
        | CallError::NotConfigured(_)
        | CallError::Refused(_)
        | CallError::UnknownSession(_) => {
            SqlError::new(ErrorCode::XsqlCfgInvalid, error.to_string())
        }
    };
    json!({ "ok": false, "schema_version": SCHEMA_VERSION, "error": error.to_json() }).to_string()
}

/// Converts an error to a JSON-RPC error.
fn json_rpc_error(tool: &str, error: &CallError) -> Failure {
    match error {
        CallError::Invalid(_) | CallError::LimitExceeded(_) => to_failure(error),
        CallError::NotFound(_)
        | CallError::Refused(_)
        | CallError::NotConfigured(_)
        | CallError::UnknownSession(_)
        | CallError::Sql(_)
        | CallError::AllSourcesFailed(_)
        | CallError::DeadlineExceeded
        | CallError::Store(_)
        | CallError::Unavailable => {
            let what = if tool == "rag_search" { "RAG search" } else { tool };
            Failure::internal_error(format!("{what} failed: {error}"))
        }
    }
}

async fn run_tool<T: Tool>(
    services: &ToolServices,
    arguments: &RawValue,
    schema: &Value,
    call: &RequestContext,
) -> Result<CallToolResult, CallError> {
    let input: T = match T::ERROR_FORMAT {
        ErrorFormat::Text | ErrorFormat::TextOrResourceError => parse_lenient(arguments, schema)?,
        ErrorFormat::CodedJson | ErrorFormat::Envelope | ErrorFormat::JsonRpcError => {
            parse_strict(arguments, schema)?
        }
    };
    let is_cleaned = services.cleans_text && !input.wants_raw();
    let output = input.call(services, call).await?;
    let second = output.text.as_ref().and_then(|_| T::second_text(&output.output));
    let mut result = finish_output(output, second, T::NAME, is_cleaned, services, call).await?;
    if let Toolset::Rag | Toolset::Knowledgebase = T::TOOLSET {
        // The texts of these contracts, and lists of products, have no place for it.
        let origin = ContentOrigin::SharedCollection.as_str().into();
        result.meta.get_or_insert_default().insert("vademecum/origin".to_owned(), origin);
    }
    Ok(result)
}

/// Serializes the output of a tool and its second text; a long output on the blocking pool.
async fn finish_output<T: Serialize + Send + 'static>(
    output: ToolOutput<T>,
    second: Option<String>,
    tool: &'static str,
    is_cleaned: bool,
    services: &ToolServices,
    call: &RequestContext,
) -> Result<CallToolResult, CallError> {
    let result = match output.text {
        // The structured output is at least as long as its text.
        Some(ref text) if text.len() > MAX_INLINE_TEXT_BYTES => {
            services.run_blocking(call, move || to_tool_result(output, second, is_cleaned)).await?
        }
        _ => to_tool_result(output, second, is_cleaned),
    };
    result.map_err(|error| {
        tracing::error!(tool, %error, "tool output could not be serialized");
        CallError::Unavailable
    })
}

/// Serializes an output, without invisible and control characters if `is_cleaned`. A second text
/// becomes a content block of its own.
pub(super) fn to_tool_result<T: Serialize>(
    output: ToolOutput<T>,
    mut second: Option<String>,
    is_cleaned: bool,
) -> serde_json::Result<CallToolResult> {
    let ToolOutput { output, mut text, mut meta } = output;
    let mut structured = serde_json::to_string(&output)?;
    if is_cleaned {
        safe_text::clean_json_string(&mut structured);
        text.iter_mut().chain(&mut second).for_each(safe_text::clean_string);
        meta.iter_mut().flat_map(Map::values_mut).for_each(safe_text::clean_value);
    }
    let result = CallToolResult::from_json(structured, meta);
    Ok(match (text, second) {
        (Some(text), Some(second)) => {
            let blocks = vec![ContentBlock::text(text), ContentBlock::text(second)];
            CallToolResult { blocks, ..result }
        }
        (text, _) => CallToolResult { text, ..result },
    })
}
