//! `vademecum connect` and `vademecum disconnect`: add this server to the settings of a client, or
//! remove it.
//!
//! [`clients`] is the table of clients. A client defines the location of its settings and the fields of
//! the [`entry`] it needs for an [`endpoint`]; [`document`] inserts and removes entries and preserves
//! every other byte; [`file`] reads and writes settings files; [`every`] handles all clients at once.

mod client;
mod clients;
mod command;
mod disconnect;
mod document;
mod endpoint;
mod entry;
mod every;
mod file;
mod hook;
mod json;
mod layout;
mod target;
mod toml;
mod yaml;

pub(super) use client::quote_word;
pub(super) use command::Connect;
pub(super) use disconnect::Disconnect;
pub(super) use endpoint::{EnvVarName, LaunchCommand, ServerUrl, absolute_path_text};
