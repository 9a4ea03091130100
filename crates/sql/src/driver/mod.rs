//! Database drivers, one file per engine.
//!
//! A [`Database`] accepts only statements that passed the guard, and still limits them: each read
//! is one prepared statement in a read-only transaction, with a timeout and row limits enforced by
//! the server, on a connection that is reset or closed afterwards.

mod cancellation;
mod database;
mod error;
#[cfg(feature = "postgres")]
mod function_bodies;
mod guard_report;
mod hypothetical_indexes;
#[cfg(feature = "postgres")]
mod literal_check;
mod lossless_json;
#[cfg(not(all(feature = "mysql", feature = "postgres")))]
mod missing;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "mysql")]
mod mysql_error;
#[cfg(feature = "mysql")]
mod mysql_guard;
#[cfg(feature = "mysql")]
mod mysql_value;
#[cfg(feature = "postgres")]
mod parse_tree;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod pool;
mod pool_load;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_error;
#[cfg(feature = "postgres")]
mod postgres_guard;
#[cfg(feature = "postgres")]
mod postgres_plans;
#[cfg(feature = "postgres")]
mod postgres_rows;
#[cfg(feature = "postgres")]
mod reached_function;
#[cfg(feature = "postgres")]
mod readable_tables;
#[cfg(feature = "postgres")]
mod reported_trees;
mod rights;
mod row_collector;
mod sqlite;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod tls;
mod write_result;

#[cfg(test)]
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod guard_bypass_tests;

pub use cancellation::finish_cancellations;
pub use database::Database;
pub use guard_report::{GuardReport, RefusedTable};
pub use hypothetical_indexes::HypotheticalIndexes;
pub use pool_load::PoolLoad;
pub use rights::DatabaseRights;
pub use row_collector::RowSender;
pub use sqlite::{SqliteReaderSettings, run_sqlite_reader, set_sqlite_readers};
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub use tls::client_config as tls_client_config;
pub use write_result::WriteResult;

pub(crate) use error::{pool_exhausted, sqlite_busy};

#[cfg(not(feature = "mysql"))]
use self::missing::MissingDriver as MySql;
#[cfg(not(feature = "postgres"))]
use self::missing::MissingDriver as Postgres;
#[cfg(feature = "mysql")]
use self::mysql::MySql;
#[cfg(feature = "postgres")]
use self::postgres::Postgres;
