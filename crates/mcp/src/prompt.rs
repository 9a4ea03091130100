//! Prompts: texts that a person picks, with gaps to fill in.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Block;

/// A prompt as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// What it is called.
    pub name: String,
    /// What people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The gaps.
    pub arguments: Vec<PromptArgument>,
}

/// A gap in a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptArgument {
    /// What it is called.
    pub name: String,
    /// What belongs there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be filled.
    pub required: bool,
}

/// A prompt with its gaps filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is said, in order.
    pub messages: Vec<PromptMessage>,
}

/// Something said in a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptMessage {
    /// By whom.
    pub role: Role,
    /// What.
    pub content: Block,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// What gaps are filled with, by their names.
pub type PromptArguments = Map<String, Value>;
