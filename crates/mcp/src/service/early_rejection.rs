//! Error responses for messages that are rejected before processing.

use crate::{
    Failure, ProtocolVersion, Service,
    message::jsonrpc::{self, Message, ParsedInput},
};

/// Error code for a caller who is not admitted; the HTTP status says why.
const CALLER_REJECTED: i32 = -32_001;

impl Service {
    /// Returns an error response for an unreadable message.
    pub fn rejection(problem: &str) -> String {
        let failure = Failure::invalid_request(problem);
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        jsonrpc::error_response(None, code, &failure)
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

    /// Returns an error response for a caller who is not admitted.
    pub fn caller_rejection(problem: &str) -> String {
        jsonrpc::error_response(None, CALLER_REJECTED, &Failure::invalid_request(problem))
    }

    /// Returns an error response for invalid parameters outside the message, such as headers.
    pub fn parameter_rejection(problem: &str) -> String {
        let failure = Failure::invalid_params(problem);
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        jsonrpc::error_response(None, code, &failure)
    }
}
