//! `vademecum import`: files in, and what became of them.

mod command;
mod run;
mod summary;
mod tldw;
mod watch;

pub(super) use command::{Import, progress};
pub(super) use run::{Wish, bring_in};
