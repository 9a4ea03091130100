//! Errors of tools as errors of the protocol.

use vademecum_actors::CallError;
use vademecum_mcp::Failure;

/// The one place where a tool's error becomes a JSON-RPC error.
pub(crate) fn to_failure(error: &CallError) -> Failure {
    let message = error.to_string();
    match error {
        CallError::NotFound(_) => Failure::resource_not_found(message),
        CallError::Invalid(_)
        | CallError::LimitExceeded(_)
        | CallError::Refused(_)
        | CallError::Sql(_)
        | CallError::NotConfigured(_)
        | CallError::UnknownSession(_) => Failure::invalid_params(message),
        CallError::AllSourcesFailed(_)
        | CallError::DeadlineExceeded
        | CallError::Store(_)
        | CallError::Unavailable => Failure::internal_error(message),
    }
}
