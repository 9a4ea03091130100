//! The command line, one command a file.

mod check;
mod command;
mod demo;
mod get;
mod import;
mod mcp;
mod output;
mod search;
mod serve;

pub use command::main;
