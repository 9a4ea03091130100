//! The command line, one command a file; a large one is a folder.

mod aside;
mod backup;
mod bundle;
mod check;
mod collection;
mod command;
mod connect;
mod database;
mod demo;
mod diagnosis;
mod eval;
mod explain;
mod export;
mod get;
mod import;
mod key;
mod manifest;
mod mcp;
mod output;
mod probe;
mod profile;
mod query;
mod restore;
mod schema;
mod search;
mod serve;
mod sheet;
mod sources;
mod user;

pub use command::main;
