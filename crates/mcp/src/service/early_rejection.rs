//! Error responses for messages that are rejected before processing.

use serde_json::value::RawValue;

use crate::{
    Failure, ProtocolVersion, Service,
    message::jsonrpc::{self, Message, ParsedInput},
};

/// Error code for a caller who is not admitted; the HTTP status says why.
const CALLER_REJECTED: i32 = -32_001;

impl Service {
    /// Returns an error response for an unreadable message.
    pub fn rejection(problem: &str) -> String {
        Self::rejection_of("", problem)
    }

    /// Returns an error response for a message of more than `longest` bytes.
    pub fn too_long(longest: usize) -> String {
        let problem = format!("the message is longer than server.max_message_bytes, {longest}");
        Self::rejection(&problem)
    }

    /// Returns an error response for a message that is not read for another reason, such as a header,
    /// with the id of the request. `text` is empty if it is unknown.
    pub fn rejection_of(text: &str, problem: &str) -> String {
        let failure = Failure::invalid_request(problem);
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        jsonrpc::error_response(request_id(text), code, &failure)
    }

    /// Returns an error response for a subscription when the connection has reached its limit;
    /// `None` if `text` is not a request.
    pub fn subscription_rejection(text: &str, max: usize) -> Option<String> {
        let Ok(ParsedInput::Single(Message::Request(request))) = jsonrpc::parse_input(text) else {
            return None;
        };
        let failure = Failure::too_many_subscriptions("connection", max);
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        Some(jsonrpc::error_response(Some(request.id), code, &failure))
    }

    /// Returns an error response for a caller who is not admitted, with the id of the request. `text`
    /// is empty if it is unknown.
    pub fn caller_rejection(text: &str, problem: &str) -> String {
        let failure = Failure::invalid_request(problem);
        jsonrpc::error_response(request_id(text), CALLER_REJECTED, &failure)
    }

    /// Returns an error response for invalid parameters outside the message, such as headers, with the
    /// id of the request. `text` is empty if it is unknown.
    pub fn parameter_rejection(text: &str, problem: &str) -> String {
        let failure = Failure::invalid_params(problem);
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        jsonrpc::error_response(request_id(text), code, &failure)
    }
}

/// Returns the id of a request, if the text is a single one.
fn request_id(text: &str) -> Option<&RawValue> {
    match jsonrpc::parse_input(text) {
        Ok(ParsedInput::Single(Message::Request(request))) => Some(request.id),
        Ok(ParsedInput::Single(_) | ParsedInput::Batch(_)) => None,
        Err(unreadable) => unreadable.id,
    }
}
