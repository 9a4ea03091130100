//! Completion: what an argument that is being typed may become.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Values that are handed out at most, as the protocol has it.
pub const MOST_COMPLETIONS: usize = 100;

/// What is being filled in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    /// A prompt, by its name.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// The name.
        name: String,
    },
    /// A family of resources, by its template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template.
        uri: String,
    },
}

/// An argument that is being typed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Typed {
    /// Which argument.
    pub name: String,
    /// What has been typed so far.
    pub value: String,
}

/// A question for completions.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// What is being filled in.
    pub reference: Reference,
    /// The argument that is being typed.
    pub argument: Typed,
    /// The arguments that are there already.
    pub others: Map<String, Value>,
}

/// What it may become, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The values; no more than [`MOST_COMPLETIONS`] are handed out.
    pub values: Vec<String>,
    /// How many there are in all, if that is known.
    pub total: Option<usize>,
}
