//! Vademecum: an MCP server that stores a person's documents, notes and chats, and lets AI agents
//! search them.
//!
//! The path of a request through the modules: [`transport`] turns bytes into a message and a
//! credential into a principal; [`mcp`](vademecum_mcp) parses the message; [`tools`] parses the arguments; a
//! session in [`actors`] queries the aggregator, which queries the sources, each with a database of
//! its own. The reply takes the same path back.

pub mod actors;
pub mod app;
pub mod cli;
pub mod collections;
mod pages;
pub mod registry;
mod services;
pub mod tools;
pub mod transport;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
