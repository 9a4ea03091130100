//! Sessions of coding agents. The crate `sessions` reads their files; here they become conversations.

mod agent_sessions;
mod session_drafts;

pub(crate) use agent_sessions::AgentSessionImporter;
