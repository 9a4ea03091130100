//! Database drivers, one file per engine.
//!
//! A [`Database`] accepts only statements that passed the guard, and still limits them: each read
//! is one prepared statement in a read-only transaction, with a timeout and row limits enforced by
//! the server, on a connection that is reset or closed afterwards.

mod database;
mod error;
mod lossless_json;
mod mysql;
mod mysql_value;
mod pool;
mod postgres;
mod postgres_rows;
mod rights;
mod row_collector;
mod sqlite;
mod tls;

#[cfg(test)]
mod guard_bypass_tests;

pub use database::{Database, PoolLoad, WriteResult};
pub use rights::DatabaseRights;
