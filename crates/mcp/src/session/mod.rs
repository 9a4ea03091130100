//! Sessions and their channels to the client.

mod outbound;
pub(crate) mod protocol_sessions;
mod scope;
pub(crate) mod session_channel;
mod session_id;
pub(crate) mod shared_sessions;
pub(crate) mod watched_resources;

pub use outbound::{LogLevel, Outbound, OutboundMessage, ProgressReporter};
pub use protocol_sessions::SessionLimits;
pub use scope::Scope;
pub use session_id::SessionId;
pub use shared_sessions::{Freshness, SessionRecords, Unreachable};
