//! The command line. Each command is a file; a large command is a folder.

mod audit;
mod backup;
mod bundle;
mod check;
mod client;
mod collection;
mod command;
mod common;
mod config;
mod config_file;
mod connect;
mod database;
mod demo;
mod empty_library;
mod eval;
mod explain;
mod export;
mod get;
mod hit_format;
mod import;
mod import_sessions;
mod interrupt;
mod key;
mod links;
mod list;
mod local_server;
mod log;
mod login;
mod mcp;
mod migrate;
#[cfg(feature = "local-model")]
mod model;
mod open;
mod output;
mod plugin;
mod profile;
mod progress;
mod query;
mod recall;
#[cfg(unix)]
mod relay;
mod restore;
mod row_printer;
mod schema;
mod search;
mod serve;
mod service;
mod sources;
mod sync;
mod table_format;
mod tool;
mod undo;
mod user;

pub use command::{command_line, main};
