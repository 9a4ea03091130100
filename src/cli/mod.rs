//! The command line. Each command is a file; a large command is a folder.

mod audit;
mod backup;
mod bundle;
mod check;
mod collection;
mod command;
mod common;
mod connect;
mod database;
mod demo;
mod eval;
mod explain;
mod export;
mod get;
mod hit_format;
mod import;
mod key;
mod list;
mod log;
mod mcp;
mod output;
mod profile;
mod progress;
mod query;
mod restore;
mod schema;
mod search;
mod serve;
mod sources;
mod table_format;
mod tool;
mod undo;
mod user;

pub use command::main;
