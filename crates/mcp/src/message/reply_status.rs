//! Status of a reply.

use std::time::Duration;

use vademecum_core::auth::Right;

/// Outcome of a message, mapped to an HTTP status by the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStatus {
    /// The reply has a response.
    Ok,
    /// The message was accepted and has no response.
    Accepted,
    /// The message is invalid.
    BadRequest,
    /// The session or method does not exist.
    NotFound,
    /// The principal lacks this right.
    Forbidden(Right),
    /// The user exceeded a limit and should wait this long.
    TooMany(Duration),
    /// The server is overloaded; the client should retry after this time.
    Busy(Duration),
}
