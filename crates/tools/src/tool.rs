//! The `Tool` trait that each tool implements, and its type-erased form that the registry lists and
//! calls.

use std::{fmt, sync::Arc};

use futures_util::future::LocalBoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};
use vademecum_actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{
    CallToolResult, ContentBlock, Failure, RequestContext, ToolAudience, ToolEffect, ToolEntry,
    ToolPresentation, ToolSchemas, Toolset,
};
use vademecum_model::ContentOrigin;
use vademecum_services::custom_tools::CustomTool;
use vademecum_sql::{ErrorCode, SqlError, custom::CustomStatement};

use super::{
    ToolRegistry,
    arguments::{parse_lenient, parse_strict},
    safe_text, schema,
    sql::{custom_tool_entry, run_custom_tool},
};
use crate::failure::to_failure;

/// Result of [`Tool::call`].
pub type ToolResult<T> = Result<ToolOutput<T>, CallError>;

/// A tool: the arguments of a call as a type, with name, metadata, typed output and the call
/// itself.
pub trait Tool: DeserializeOwned + JsonSchema + 'static {
    /// Canonical tool name, with dots.
    const NAME: &'static str;
    /// Title shown to people.
    const TITLE: &'static str;
    /// Description for the model: what the tool does and when to use it.
    const DESCRIPTION: &'static str;
    /// Toolset that lists the tool.
    const TOOLSET: Toolset = Toolset::Knowledge;
    /// Right that the caller needs.
    const REQUIRED_RIGHT: Right = Right::Read;
    /// Side effects of a call; the source of the tool annotations.
    const EFFECT: ToolEffect = ToolEffect::Reads;
    /// Format of error results.
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::Text;
    /// URI of the app that shows results.
    const APP_URI: Option<&'static str> = None;
    /// Whether a result can exceed the default limits of clients.
    const HAS_LONG_RESULTS: bool = false;
    /// Structured result of the tool.
    type Output: Serialize + JsonSchema + Send + 'static;

    /// Whether this call asks for its output with invisible and control characters.
    fn wants_raw(&self) -> bool {
        false
    }

    /// Returns a second text for the model, after the text of the output. It becomes a content block
    /// of its own, so that the first keeps the form that a contract gives it.
    fn second_text(_output: &Self::Output) -> Option<String> {
        None
    }

    /// Runs the tool.
    fn call(
        self,
        toolbox: &ToolRegistry,
        call: &RequestContext,
    ) -> impl Future<Output = ToolResult<Self::Output>>;
}

/// Format in which a tool reports errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    /// Tool error (`isError: true`) with a plain message, so that the model can correct the call
    /// (`docs/adr/0004-tool-errors.md`).
    Text,
    /// Like [`Text`](Self::Text), but a URI that does not exist is a JSON-RPC error, as in
    /// `resources/read`.
    TextOrResourceError,
    /// Tool error with the JSON object `{"error": {"code", "message"}}`.
    CodedJson,
    /// Tool error with the JSON envelope `{ok, schema_version, error}`.
    Envelope,
    /// For clients that do not know tool results: the fields of the output are also fields of the
    /// result itself, and an error is a JSON-RPC error.
    JsonRpcError,
}

/// Result of a tool call: the structured output, an optional text and `_meta`.
#[derive(Clone, Debug)]
pub struct ToolOutput<T> {
    /// Structured output.
    pub output: T,
    /// Text content for the model. `None` means the output serialized as JSON.
    pub text: Option<String>,
    /// Fields of the result's `_meta`.
    pub meta: Option<Map<String, Value>>,
}

impl<T> From<T> for ToolOutput<T> {
    fn from(output: T) -> Self {
        Self { output, text: None, meta: None }
    }
}

/// Returns the `_meta` of a vector search: the cosine similarity below which hits are coincidences.
pub fn similarity_floor_meta(floor: Option<f64>) -> Option<Map<String, Value>> {
    Some(Map::from_iter([("similarity_floor".to_owned(), json!(round_similarity(floor?)))]))
}

/// Rounds a similarity to three digits.
pub fn round_similarity(similarity: f64) -> f64 {
    (similarity * 1_000.0).round() / 1_000.0
}

/// Longest text, in bytes, whose structured output is serialized on the event loop. Below this
/// size, serializing costs less than a handover to the blocking pool.
const MAX_INLINE_TEXT_BYTES: usize = 16 * 1_024;

/// Value of `schema_version` in the envelope of `query`.
pub(crate) const SCHEMA_VERSION: u8 = 1;

type ToolFn = for<'a> fn(
    &'a ToolRegistry,
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
            runner: ToolRunner::BuiltIn(|toolbox, arguments, schema, call| {
                Box::pin(run_tool::<T>(toolbox, arguments, schema, call))
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
        toolbox: &ToolRegistry,
        arguments: &RawValue,
        call: &RequestContext,
    ) -> Result<CallToolResult, Failure> {
        let answer = match &self.runner {
            ToolRunner::BuiltIn(run) => {
                run(toolbox, arguments, &self.entry.schemas.input, call).await
            }
            ToolRunner::Custom(statement) => {
                match run_custom_tool(statement, toolbox, arguments, call).await {
                    Ok(output) => {
                        let is_cleaned = toolbox.cleans_text();
                        finish_output(output, None, self.entry.name, is_cleaned, toolbox, call)
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
                let text = toolbox.clean(error.to_string(), safe_text::clean_string);
                Ok(CallToolResult::tool_error(text))
            }
            (ErrorFormat::CodedJson, Err(error)) => {
                let text = toolbox.clean(coded_error(&error), safe_text::clean_json_string);
                Ok(CallToolResult::tool_error(text))
            }
            (ErrorFormat::Envelope, Err(error)) => {
                let text = toolbox.clean(envelope_error(error), safe_text::clean_json_string);
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
        CallError::DeadlineExceeded => "DEADLINE_EXCEEDED",
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
    toolbox: &ToolRegistry,
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
    let is_cleaned = toolbox.cleans_text() && !input.wants_raw();
    let output = input.call(toolbox, call).await?;
    let second = output.text.as_ref().and_then(|_| T::second_text(&output.output));
    let mut result = finish_output(output, second, T::NAME, is_cleaned, toolbox, call).await?;
    if let Toolset::Rag | Toolset::Knowledgebase = T::TOOLSET {
        // Hits of these contracts have no field for their origin.
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
    toolbox: &ToolRegistry,
    call: &RequestContext,
) -> Result<CallToolResult, CallError> {
    let result = match output.text {
        // The structured output is at least as long as its text.
        Some(ref text) if text.len() > MAX_INLINE_TEXT_BYTES => {
            toolbox.run_blocking(call, move || to_tool_result(output, second, is_cleaned)).await?
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
