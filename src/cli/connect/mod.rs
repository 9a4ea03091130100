//! `vademecum connect` and `vademecum disconnect`: this server in the settings
//! of a client.
//!
//! [`client`] is the list of clients, each of which is a file in `clients`. A
//! client says where its settings are and what an [`entry`] for a [`link`]
//! looks like; [`document`] puts it there and takes it out again, and leaves
//! every other byte alone; [`file`] reads and writes.

mod client;
mod clients;
mod command;
mod disconnect;
mod document;
mod entry;
mod file;
mod json;
mod link;
mod target;
mod toml;

pub(super) use command::Connect;
pub(super) use disconnect::Disconnect;
pub(super) use link::Start;
