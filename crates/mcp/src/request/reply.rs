//! Reply to a message.

use serde_json::value::RawValue;

use crate::{Failure, ProtocolVersion, ReplyStatus, SessionId, message::jsonrpc};

/// Reply to a message or batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Response text; `None` if the message expects no response.
    pub message: Option<String>,
    /// Outcome for transports with status codes.
    pub status: ReplyStatus,
    /// Session that the message opened.
    pub opened_session: Option<SessionId>,
}

impl Reply {
    pub(crate) fn accepted() -> Self {
        Self { message: None, status: ReplyStatus::Accepted, opened_session: None }
    }

    pub(crate) fn unreadable(unreadable: &jsonrpc::ParseFailure<'_>) -> Self {
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&unreadable.failure.kind);
        Self {
            message: Some(jsonrpc::error_response(unreadable.id, code, &unreadable.failure)),
            status: ReplyStatus::BadRequest,
            opened_session: None,
        }
    }

    /// Creates the reply to a message that was not read.
    pub fn refusal(failure: &Failure) -> Self {
        let revision = ProtocolVersion::NEWEST_WITH_SESSIONS;
        let code = revision.error_code(&failure.kind);
        let message = Some(jsonrpc::error_response(None, code, failure));
        Self { message, status: revision.reply_status(&failure.kind), opened_session: None }
    }

    pub(crate) fn no_session(id: Option<&RawValue>) -> Self {
        let failure = Failure::invalid_request(
            "the session has ended or does not exist: send `initialize` again",
        );
        let code = ProtocolVersion::NEWEST_WITH_SESSIONS.error_code(&failure.kind);
        let message = Some(jsonrpc::error_response(id, code, &failure));
        Self { message, status: ReplyStatus::NotFound, opened_session: None }
    }
}
