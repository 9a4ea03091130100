//! The command line, one command a file; a large one is a folder.

mod aside;
mod backup;
mod bundle;
mod check;
mod collection;
mod command;
mod connect;
mod demo;
mod diagnosis;
mod eval;
mod export;
mod get;
mod import;
mod key;
mod manifest;
mod mcp;
mod output;
mod probe;
mod profile;
mod restore;
mod search;
mod serve;
mod sources;
mod user;

pub use command::main;
