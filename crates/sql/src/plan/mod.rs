//! How a database means to answer a query, and what might be better.
//!
//! [`explain`] asks; one file an engine says what stands out in its plans.

mod explain;
mod mysql;
mod notes;
mod postgres;
mod sqlite;

pub use explain::{Body, Explaining, Plan, PlanForm, explain};
