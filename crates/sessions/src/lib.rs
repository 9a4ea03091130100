//! Sessions of coding agents: where programs keep them, what their files hold, and which parts of
//! them are secrets.
//!
//! `agents` has a file for each program and one list of all. Nothing here stores anything. Start
//! with `session`, then `agents::qwen`, the shortest reader.

mod agents;
mod places;
#[cfg(test)]
mod secret_samples;
mod secret_value;
mod secrets;
mod session;
mod session_builder;
mod session_file;
mod session_tail;
mod text;
mod tool_call;

pub use agents::{AGENTS, AgentFormat, Match, find_agent, session_neighbours};
pub use places::{AgentPlace, HomeFolders, find_session_file, find_session_files};
pub use secrets::{Redactions, Redactor};
pub use session::{Aside, AsideKind, Role, Session, Turn};
pub use session_file::{SessionError, SessionFile};
pub use session_tail::{FollowedSessions, SessionTail};
