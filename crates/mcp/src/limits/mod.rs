//! Limits of calls, connections, bytes and rates.

pub(crate) mod admission;
mod byte_budget;
mod rate_limits;

pub use admission::{AdmissionLimits, ConnectionPermit, MessageCost};
pub use byte_budget::{ByteBudget, ByteLimits, InFlightBytes};
pub use rate_limits::RateLimits;
