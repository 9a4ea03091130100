//! The databases of a tldw server or of `tldw_chatbook`: found, read, followed.
//!
//! Their files are the truth and are only ever read; not a byte beside them is
//! written either. What is searched is a store of ours that follows them
//! (`docs/adr/0012-tldw-in-place.md`). Start reading at `follow`; `user` finds the
//! files, `file` opens them, and each kind of item is a file of its own.

mod cell;
mod characters;
mod chats;
mod error;
mod file;
mod follow;
mod media;
mod notes;
mod prompts;
mod shape;
mod user;

pub use error::TldwError;
pub use file::{File, Identity};
pub use follow::{Followed, Problem, Vanished, follow};
pub use user::{User, the_user, users};
