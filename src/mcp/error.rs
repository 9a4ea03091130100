//! Failures as JSON-RPC knows them.

use serde::Serialize;

/// A request that failed as a message of the protocol.
///
/// A tool that cannot do what it was asked answers with
/// [`Answer::refusal`](super::Answer::refusal) instead, which the model gets to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What kind of failure it is, as a JSON-RPC code.
    pub code: i32,
    /// What is wrong, where, and what to do.
    pub message: String,
}

impl Failure {
    /// The text was no JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self { code: -32_700, message: message.into() }
    }

    /// The JSON was no request.
    pub fn request(message: impl Into<String>) -> Self {
        Self { code: -32_600, message: message.into() }
    }

    /// There is no such method.
    pub fn method(name: &str) -> Self {
        Self { code: -32_601, message: format!("unknown method `{name}`") }
    }

    /// The parameters are not what the method takes.
    pub fn parameters(message: impl Into<String>) -> Self {
        Self { code: -32_602, message: message.into() }
    }

    /// The server could not do it.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: -32_603, message: message.into() }
    }

    /// There is no such resource.
    pub fn resource(message: impl Into<String>) -> Self {
        Self { code: -32_002, message: message.into() }
    }
}
