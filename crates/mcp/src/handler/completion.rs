//! Completion of prompt and resource template arguments.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum number of completion values in a response, as the MCP specification requires.
pub const MAX_COMPLETIONS: usize = 100;

/// Prompt or resource template whose argument is completed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// Prompt, by name.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Name of the prompt.
        name: String,
    },
    /// Resource template, by URI template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// URI template.
        uri: String,
    },
}

/// Partial argument.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PartialArgument {
    /// Name of the argument.
    pub name: String,
    /// Text typed so far.
    pub value: String,
}

/// Request for completions.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionRequest {
    /// Prompt or resource template.
    pub reference: CompletionReference,
    /// Argument to complete.
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
