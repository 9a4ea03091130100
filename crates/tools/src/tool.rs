//! The `Tool` trait that each tool implements, its output, and the formats of its errors.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use vademecum_actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{RequestContext, ToolEffect, Toolset};

use super::ToolServices;

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
        services: &ToolServices,
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

/// Value of `schema_version` in the envelope of `query`.
pub(crate) const SCHEMA_VERSION: u8 = 1;
