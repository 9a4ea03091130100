//! The command line, one command a file; a large one is a folder.

mod bundle;
mod check;
mod command;
mod connect;
mod demo;
mod eval;
mod get;
mod import;
mod mcp;
mod output;
mod search;
mod serve;

pub use command::main;
