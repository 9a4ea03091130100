//! `vademecum connect` and `vademecum disconnect`: add this server to the settings of a client, or
//! remove it.
//!
//! [`client_name`] lists the clients, each of which is a file in `clients`. A client defines the
//! location of its settings and the [`entry`] it needs for an [`endpoint`]; [`document`] inserts
//! and removes entries and preserves every other byte; [`file`] reads and writes settings files.

mod client;
mod client_name;
mod clients;
mod command;
mod disconnect;
mod document;
mod endpoint;
mod entry;
mod file;
mod hook;
mod json;
mod layout;
mod target;
mod toml;

pub(super) use command::Connect;
pub(super) use disconnect::Disconnect;
pub(super) use endpoint::{EnvVarName, LaunchCommand, ServerUrl, absolute_path_text};
