//! Failures as the protocol knows them.

use std::time::Duration;

use serde_json::{Map, Value};

use vademecum_core::auth::Right;

/// A request that failed as a message of the protocol.
///
/// A tool that cannot do what it was asked answers with
/// [`Answer::refusal`](super::Answer::refusal) instead, which the model gets to see.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What kind of failure it is; the revision gives it a code.
    pub kind: Kind,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// What a program can make of it.
    pub data: Option<Value>,
}

/// Kinds of failures.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The text was no JSON.
    Parse,
    /// The JSON was no request.
    Request,
    /// There is no such method.
    Method,
    /// The parameters are not what the method takes.
    Parameters,
    /// The parameters lack what every request must say.
    Meta,
    /// The server could not do it.
    Internal,
    /// There is no such resource.
    Resource,
    /// Headers and message contradict each other.
    HeaderMismatch,
    /// The client cannot do what this takes.
    MissingCapability,
    /// The revision is not spoken here.
    UnsupportedVersion,
    /// The principal lacks this right.
    Forbidden(Right),
    /// The user has asked too often, and must wait so long.
    TooMany(Duration),
    /// The server has too much to do, and may be asked again after so long.
    Busy(Duration),
    /// No failure yet: the client is asked for more.
    InputRequired(Box<InputRequired>),
}

/// What a request needs before it can be answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequired {
    /// Requests for the client, each under a name.
    pub requests: Map<String, Value>,
    /// What must be known when the client comes back. It is sealed on its way:
    /// nobody can change it, or use it for another request.
    pub state: Option<Value>,
}

impl Failure {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None }
    }

    /// The text was no JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(Kind::Parse, message)
    }

    /// The principal may not do that.
    pub(crate) fn forbidden(right: Right) -> Self {
        let message = format!("this needs the scope `{right}`, which this key or token has not");
        Self::new(Kind::Forbidden(right), message)
    }

    /// The user has asked too often.
    pub(crate) fn too_many(wait: Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        Self::new(Kind::TooMany(wait), format!("too many requests: try again in {seconds} s"))
    }

    /// So many calls of the user wait already.
    pub(crate) fn crowded(waiting: usize) -> Self {
        let message = format!(
            "too many of this user's calls are running, and {waiting} wait: try again in 1 s, \
             with fewer at the same time"
        );
        Self::new(Kind::TooMany(Duration::ZERO), message)
    }

    /// The user has so many connections and subscriptions already.
    pub(crate) fn connected(most: usize) -> Self {
        let message = format!(
            "a user has at most {most} WebSockets, streams and subscriptions: close one first"
        );
        Self::new(Kind::TooMany(Duration::ZERO), message)
    }

    /// The connection has so many subscriptions already.
    pub(crate) fn subscribed(most: u32) -> Self {
        let message = format!("a connection has at most {most} subscriptions: cancel one first");
        Self::new(Kind::TooMany(Duration::ZERO), message)
    }

    /// The server has too much to do for everybody.
    pub(crate) fn busy() -> Self {
        Self::new(Kind::Busy(Duration::ZERO), "the server has too much to do: try again in 1 s")
    }

    /// The call took longer than any may.
    pub(crate) fn overdue(longest: Duration) -> Self {
        let seconds = longest.as_secs_f64();
        Self::internal(format!("this took longer than {seconds} s and was stopped; ask for less"))
    }

    /// Something broke off in the middle of a call.
    pub(crate) fn broken() -> Self {
        Self::internal("this broke off: a fault of the server, whose log says more")
    }

    /// The JSON was no request.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(Kind::Request, message)
    }

    /// There is no such method.
    pub fn method(name: &str) -> Self {
        Self::new(Kind::Method, format!("unknown method `{name}`"))
    }

    /// The parameters are not what the method takes.
    pub fn parameters(message: impl Into<String>) -> Self {
        Self::new(Kind::Parameters, message)
    }

    /// The parameters lack what every request must say.
    pub(crate) fn meta(message: impl Into<String>) -> Self {
        Self::new(Kind::Meta, message)
    }

    /// The server could not do it.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// There is no such resource.
    pub fn resource(message: impl Into<String>) -> Self {
        Self::new(Kind::Resource, message)
    }

    /// Headers and message contradict each other.
    pub(crate) fn header(message: impl Into<String>) -> Self {
        Self::new(Kind::HeaderMismatch, message)
    }

    /// The client lacks a capability; `required` is it, as a client declares it.
    pub fn missing_capability(message: impl Into<String>, required: &Value) -> Self {
        let data = serde_json::json!({ "requiredCapabilities": required });
        Self { data: Some(data), ..Self::new(Kind::MissingCapability, message) }
    }

    /// The client must first answer what is asked of it.
    pub fn input_required(input: InputRequired) -> Self {
        let message = "the client must answer a question first, and speaks a revision that \
                       cannot be asked in this way";
        Self::new(Kind::InputRequired(Box::new(input)), message)
    }
}
