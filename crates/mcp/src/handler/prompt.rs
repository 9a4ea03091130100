//! Prompts: message templates with arguments.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::ContentBlock;

/// Prompt as listed by `prompts/list`.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// Unique name.
    pub name: String,
    /// Title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub arguments: Vec<PromptArgument>,
}

/// Argument that `prompts/get` takes.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The argument must be given.
    pub required: bool,
}

/// Result of `prompts/get`: the messages with the arguments filled in.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GetPromptResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}

/// Message of a prompt, with the arguments filled in.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptMessage {
    pub role: Role,
    pub content: ContentBlock,
}

/// Author of a prompt message.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// Argument values, by name.
pub type PromptArguments = Map<String, Value>;
