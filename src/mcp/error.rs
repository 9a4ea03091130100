//! Failures as JSON-RPC knows them.

use std::time::Duration;

use serde::Serialize;

use super::Status;
use crate::auth::Right;

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
    /// What transports that have a word for it say besides.
    #[serde(skip)]
    pub status: Status,
}

impl Failure {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), status: Status::Ok }
    }

    /// The principal may not do that.
    pub fn forbidden(right: Right) -> Self {
        let message = format!("this needs the scope `{right}`, which this key or token has not");
        Self { status: Status::Forbidden(right), ..Self::new(-32_003, message) }
    }

    /// The user has asked too often.
    pub fn too_many(wait: Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        let message = format!("too many requests: try again in {seconds} s");
        Self { status: Status::TooMany(wait), ..Self::new(-32_004, message) }
    }

    /// The text was no JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(-32_700, message)
    }

    /// The JSON was no request.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(-32_600, message)
    }

    /// There is no such method.
    pub fn method(name: &str) -> Self {
        Self::new(-32_601, format!("unknown method `{name}`"))
    }

    /// The parameters are not what the method takes.
    pub fn parameters(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    /// The server could not do it.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32_603, message)
    }

    /// There is no such resource.
    pub fn resource(message: impl Into<String>) -> Self {
        Self::new(-32_002, message)
    }
}
