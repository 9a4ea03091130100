//! The command line, one command a file; a large one is a folder.

mod bundle;
mod check;
mod command;
mod connect;
mod demo;
mod eval;
mod get;
mod import;
mod key;
mod mcp;
mod output;
mod search;
mod serve;
mod tldw;
mod user;

pub use command::main;
