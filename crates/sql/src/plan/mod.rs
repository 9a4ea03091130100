//! Query plans and hints for improvement.
//!
//! [`explain_query`] fetches a plan; one file per engine derives notes from it.

mod explain;
mod mysql;
mod notes;
mod postgres;
mod sqlite;

pub use explain::{ExplainOptions, PlanBody, PlanFormat, QueryPlan, explain_query};
