//! `SQLite` driver.
//!
//! A read runs in a child process of the same program ([`readers`](self::readers)), because one
//! step of a statement may take seconds, gigabytes of memory or of temporary files: the process has
//! limits of its own and is killed at the deadline. Without a program, as in tests of this library,
//! and for statements that may write, it runs on the blocking pool.
//!
//! Either way, each statement has a new connection, which an authorizer restricts (`authorizer`).
//! See `docs/adr/0027-sqlite-reader-process.md`.

mod authorizer;
mod child;
mod connection;
mod database;
mod deadline;
mod failure;
mod message;
mod process;
mod readers;
mod settings;
mod statement;

pub(super) use self::database::Sqlite;
pub use self::{
    child::run_sqlite_reader, readers::set_sqlite_readers, settings::SqliteReaderSettings,
};
