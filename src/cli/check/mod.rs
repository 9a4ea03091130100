//! `vademecum check`: checks settings, databases and environment, and repairs derived data.
//!
//! Start with `command.rs`; each other file is one group of checks.

mod clock;
mod command;
mod database_files;
mod disk;
mod finding;
mod orphans;
mod permissions;
mod profiles;
mod vectors;

pub(super) use command::Check;
