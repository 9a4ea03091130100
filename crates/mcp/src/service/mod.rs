//! The protocol service: from a message to a reply.

mod early_rejection;
mod protocol_service;
mod sessions;
mod tool_call;

pub use protocol_service::{Service, ServiceOptions};
pub use tool_call::CallProblem;
