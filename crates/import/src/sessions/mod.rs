//! Sessions of coding agents. The crate `sessions` reads their files; here they become conversations.

mod agent_sessions;
mod follow;
mod session_drafts;

pub(crate) use agent_sessions::AgentSessionImporter;
pub use follow::FollowMode;
pub(crate) use follow::{continue_session, start_following};
