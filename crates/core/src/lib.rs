//! Settings, authentication and telemetry: what every other part of the program stands on.

pub mod auth;
pub mod config;
pub mod telemetry;
