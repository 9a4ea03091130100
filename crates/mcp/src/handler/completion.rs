//! Completion of prompt and resource template arguments.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum number of completion values in a response, as the MCP specification requires.
pub const MAX_COMPLETIONS: usize = 100;

/// Prompt or resource template whose argument is completed.
#[expect(missing_docs, reason = "the variants say whose name or URI it is")]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// Prompt, by its unique name.
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    /// Resource template, by URI template.
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// Argument of a prompt or resource template that the user is typing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PartialArgument {
    /// Name of the argument, or of the variable in the URI template.
    pub name: String,
    /// Text typed so far.
    pub value: String,
}

/// Parameters of `completion/complete`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionRequest {
    /// Prompt or resource template.
    pub reference: CompletionReference,
    /// Argument with the text typed so far.
    pub argument: PartialArgument,
    /// Arguments that are already filled in.
    pub known_arguments: Map<String, Value>,
}

/// Completion values, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Values; at most [`MAX_COMPLETIONS`] are sent.
    pub values: Vec<String>,
    /// Total number of values, if known.
    pub total: Option<usize>,
}
