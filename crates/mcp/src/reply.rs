//! What goes back for a message.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{Failure, Revision, SessionId, jsonrpc};
use vademecum_core::auth::Right;

/// What goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The message, unless none is wanted.
    pub message: Option<String>,
    /// How it went, for transports that have a word for that.
    pub status: Status,
    /// The session that was opened by this message.
    pub opened: Option<SessionId>,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is an answer.
    Ok,
    /// There is nothing to answer.
    Accepted,
    /// The message is not right.
    BadRequest,
    /// There is no such session or method.
    NotFound,
    /// The principal lacks this right.
    Forbidden(Right),
    /// The user has asked too often, and must wait so long.
    TooMany(Duration),
    /// The server has too much to do, and may be asked again after so long.
    Busy(Duration),
}

impl Reply {
    pub(super) fn accepted() -> Self {
        Self { message: None, status: Status::Accepted, opened: None }
    }

    pub(super) fn unreadable(unreadable: &jsonrpc::Unreadable<'_>) -> Self {
        let code = Revision::NEWEST_WITH_SESSIONS.code(&unreadable.failure.kind);
        Self {
            message: Some(jsonrpc::failure(unreadable.id, code, &unreadable.failure)),
            status: Status::BadRequest,
            opened: None,
        }
    }

    pub(super) fn no_session(id: Option<&RawValue>) -> Self {
        let failure =
            Failure::request("this session is over or was never opened: send `initialize` again");
        let code = Revision::NEWEST_WITH_SESSIONS.code(&failure.kind);
        let message = Some(jsonrpc::failure(id, code, &failure));
        Self { message, status: Status::NotFound, opened: None }
    }
}
