//! Prompts: message templates with arguments.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::ContentBlock;

/// Prompt as listed by `prompts/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// Unique name.
    pub name: String,
    /// Title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Purpose of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Arguments of the prompt.
    pub arguments: Vec<PromptArgument>,
}

/// Argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptArgument {
    /// Name of the argument.
    pub name: String,
    /// Purpose of the argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The argument must be given.
    pub required: bool,
}

/// Prompt with its arguments filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GetPromptResult {
    /// Purpose of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Messages in order.
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptMessage {
    /// Author of the message.
    pub role: Role,
    /// Content of the message.
    pub content: ContentBlock,
}

/// Author of a prompt message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Argument values, by name.
pub type PromptArguments = Map<String, Value>;
