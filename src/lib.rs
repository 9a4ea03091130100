//! Vademecum: one server that holds what a person knows and lets their AI
//! agents find it.
//!
//! One request, room by room: [`transport`] turns bytes into a message and a
//! credential into a principal; [`mcp`] reads the message; [`tools`] reads the
//! arguments; a session in [`actors`] asks the aggregator, which asks the
//! sources, each with a database of its own. Answers come back the same way.

pub mod actors;
pub mod app;
pub mod cli;
pub mod collections;
pub mod registry;
pub mod tools;
pub mod transport;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
