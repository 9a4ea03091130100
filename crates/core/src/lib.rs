//! Settings, authentication, audit log and telemetry: what every other part of the program stands on.

pub mod audit;
pub mod auth;
pub mod config;
pub mod telemetry;
