//! Sessions of coding agents: the secrets in them.

#[cfg(test)]
mod secret_samples;
mod secret_value;
mod secrets;

pub use secrets::{Redactions, Redactor};
