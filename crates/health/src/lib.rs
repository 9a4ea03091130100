//! Health checks of a database and the list of its statements and locks, all read-only.
//!
//! Each check is one statement per product in `postgres/`, `mysql/`, `mariadb/` and `sqlite/`. Its
//! rows are findings: severity, object, measure, unit, sentence and suggestion, so that the
//! judgement stands beside the query (ADR 32). Start reading at [`run_check`].

pub mod advice;

mod activity;
mod check;
mod product;
mod report;
mod statements;
mod write_ahead_log;

pub use activity::{ActivityKind, ActivityList, ActivityStatement, list_activity};
pub(crate) use activity::{HIDDEN_QUERY, extension_schema, top_queries};
pub use check::HealthCheck;
pub use product::ServerProduct;
pub use report::{CheckReport, CheckStatus, Finding, Severity, run_check};
