//! Limits of calls, connections and rates.

pub(crate) mod admission;
mod rate_limits;

pub use admission::{AdmissionLimits, ConnectionPermit, MessageCost};
pub use rate_limits::RateLimits;
