//! Protocol failures.

use std::time::Duration;

use serde_json::{Map, Value};

use vademecum_core::auth::Right;

/// Request failure that becomes a JSON-RPC error.
///
/// A tool that fails returns [`CallToolResult::tool_error`](crate::CallToolResult::tool_error)
/// instead, which the model can read.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Kind of failure, which determines the error code.
    pub kind: FailureKind,
    /// The problem, its location and the remedy.
    pub message: String,
    /// Machine-readable details.
    pub data: Option<Value>,
}

/// Kind of a failure; the protocol version maps it to an error code and an HTTP status.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureKind {
    /// The text is not JSON.
    ParseError,
    /// The JSON is not a valid request.
    InvalidRequest,
    /// The method does not exist.
    MethodNotFound,
    /// The parameters are invalid for the method.
    InvalidParams,
    /// Required `_meta` fields are missing.
    InvalidMeta,
    /// The server failed; the caller cannot mend the request.
    InternalError,
    /// The resource does not exist.
    ResourceNotFound,
    /// Headers and message contradict each other.
    HeaderMismatch,
    /// The client lacks a required capability.
    MissingCapability,
    /// The protocol version is not supported.
    UnsupportedVersion,
    /// The principal lacks this right.
    Forbidden(Right),
    /// The user exceeded a limit and should wait this long.
    TooMany(Duration),
    /// The server is overloaded; the client should retry after this time.
    Busy(Duration),
    /// Client input is required first. Not an error in protocol versions that return it as a
    /// result.
    InputRequired(Box<InputRequired>),
}

/// Client input that a request needs before it can complete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputRequired {
    /// Server requests by name.
    pub requests: Map<String, Value>,
    /// State to return with the retry. It is signed: the client cannot change it or use it for
    /// another request.
    pub state: Option<Value>,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), data: None }
    }

    /// Adds a field to the details, unless they have another form than an object.
    pub(crate) fn add_data(&mut self, name: &str, value: Value) {
        let details = self.data.get_or_insert_with(|| Map::new().into());
        if let Value::Object(fields) = details {
            fields.insert(name.to_owned(), value);
        }
    }

    /// Failure of input that is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(FailureKind::ParseError, message)
    }

    /// Failure of a principal without this right.
    pub(crate) fn forbidden(right: Right) -> Self {
        let message =
            format!("this needs the scope `{right}`, which this key or token does not have");
        Self::new(FailureKind::Forbidden(right), message)
    }

    /// Failure of a user who exceeded the rate limit.
    pub(crate) fn too_many(wait: Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        Self::new(
            FailureKind::TooMany(wait),
            format!("too many requests: try again in {seconds} s"),
        )
    }

    /// Failure of a user with too many running and queued calls.
    pub(crate) fn too_many_calls(waiting: usize) -> Self {
        let message = format!(
            "too many calls of this user are running, and {waiting} are queued: try again in 1 s, \
             with fewer concurrent calls"
        );
        Self::new(FailureKind::TooMany(Duration::ZERO), message)
    }

    /// Failure of a user with too many open connections and subscriptions.
    pub(crate) fn too_many_connections(max: usize) -> Self {
        let message = format!(
            "a user has at most {max} WebSockets, streams and subscriptions: close one first"
        );
        Self::new(FailureKind::TooMany(Duration::ZERO), message)
    }

    /// Failure of a `owner`, such as a session, with too many subscriptions.
    pub(crate) fn too_many_subscriptions(owner: &str, max: usize) -> Self {
        let message = format!("a {owner} has at most {max} subscriptions: cancel one first");
        Self::new(FailureKind::TooMany(Duration::ZERO), message)
    }

    /// Failure of a user whose messages and replies exceed the budget of bytes in flight.
    pub(crate) fn too_many_bytes(max: usize) -> Self {
        let message = format!(
            "this user's messages and unread replies exceed {max} bytes \
             (limits.bytes_in_flight_per_user): try again later"
        );
        Self::new(FailureKind::TooMany(Duration::ZERO), message)
    }

    /// Failure of a server whose messages and replies exceed the budget of bytes in flight.
    pub(crate) fn too_many_bytes_in_all(max: usize) -> Self {
        let message = format!(
            "all messages and unread replies exceed {max} bytes (limits.bytes_in_flight_in_all): \
             try again later"
        );
        Self::new(FailureKind::Busy(Duration::ZERO), message)
    }

    /// Failure of a server at its limit of running and queued calls.
    pub(crate) fn server_busy() -> Self {
        Self::new(FailureKind::Busy(Duration::ZERO), "the server is overloaded: try again in 1 s")
    }

    /// Failure of a subscription of which other servers could not learn.
    pub(crate) fn archive_unreachable() -> Self {
        Self::internal_error(
            "the archive of the libraries cannot be reached: nothing was subscribed; try again in a few \
             seconds",
        )
    }

    /// Failure of a call that exceeded the call timeout.
    pub(crate) fn call_timeout(timeout: Duration) -> Self {
        let seconds = timeout.as_secs_f64();
        Self::internal_error(format!(
            "the call took longer than {seconds} s and was stopped; request less"
        ))
    }

    /// Failure of a call that panicked; the reply says nothing of the cause.
    pub(crate) fn panicked() -> Self {
        Self::internal_error("internal server error; see the server log for details")
    }

    /// Failure of JSON that is not a valid request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidRequest, message)
    }

    /// Failure of an unknown method.
    pub fn method_not_found(name: &str) -> Self {
        Self::new(FailureKind::MethodNotFound, format!("unknown method `{name}`"))
    }

    /// Failure of invalid parameters.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidParams, message)
    }

    /// Failure of missing `_meta` fields.
    pub(crate) fn invalid_meta(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidMeta, message)
    }

    /// Failure of the server itself, which the caller cannot avoid.
    pub fn internal_error(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InternalError, message)
    }

    /// Failure of an unknown resource.
    pub fn resource_not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::ResourceNotFound, message)
    }

    /// Failure of headers that contradict the message.
    pub(crate) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(FailureKind::HeaderMismatch, message)
    }

    /// Failure of a missing client capability; `required` is its declaration.
    pub fn missing_capability(message: impl Into<String>, required: &Value) -> Self {
        let data = serde_json::json!({ "requiredCapabilities": required });
        Self { data: Some(data), ..Self::new(FailureKind::MissingCapability, message) }
    }

    /// Failure that asks the client for input.
    pub fn input_required(input: InputRequired) -> Self {
        let message = "the client must provide input first, which this protocol version \
                       does not support here";
        Self::new(FailureKind::InputRequired(Box::new(input)), message)
    }
}
