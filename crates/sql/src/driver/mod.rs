//! How databases are asked: one file an engine.
//!
//! A [`Database`] takes only what the guard has made, and trusts it little: every
//! read is one prepared statement in a read-only transaction, with a timeout and
//! caps that the server knows of, on a connection that is reset after it, or ended.

mod database;
mod error;
mod exact;
mod gather;
mod mysql;
mod mysql_value;
mod pool;
mod postgres;
mod postgres_rows;
mod rights;
mod sqlite;
mod tls;

#[cfg(test)]
mod unguarded;

pub use database::{Database, Load, Written};
pub use rights::Rights;
