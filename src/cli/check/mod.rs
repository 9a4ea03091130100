//! `vademecum check`: what is sound, what is not, and what is mended.
//!
//! Start with `command.rs`; each other file looks at one kind of thing.

mod clock;
mod command;
mod disk;
mod files;
mod finding;
mod leftovers;
mod permissions;
mod profiles;
mod vectors;

pub(super) use command::Check;
