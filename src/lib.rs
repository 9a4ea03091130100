//! Vademecum: an MCP server that stores a person's documents, notes and chats, and lets AI agents
//! search them.
//!
//! The path of a request through the crates: [`vademecum_web`] turns bytes into a message and a
//! credential into a principal; [`vademecum_mcp`] parses the message; [`vademecum_tools`] parses the
//! arguments; a session in [`vademecum_actors`] queries the aggregator, which queries the sources, each
//! with a database of its own. The reply takes the same path back.

pub mod app;
pub mod cli;
pub mod registry;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
