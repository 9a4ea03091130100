//! Reading the databases of a tldw server or of `tldw_chatbook`.
//!
//! The databases are only read; neither they nor files next to them are ever written. Searches use
//! a replica in our own store, which is synchronised with them (`docs/adr/0012-tldw-in-place.md`).
//! Start reading at `sync`; `user` finds the databases, `file` opens them, and each kind of item
//! has a module.

#[macro_use]
extern crate vademecum_source;

mod cell;
mod characters;
mod chats;
mod error;
mod file;
mod media;
mod notes;
mod prompts;
mod read_limits;
mod required_columns;
mod sync;
mod user;

pub use error::TldwError;
pub use file::{DatabaseFingerprint, TldwFile};
pub use read_limits::ReadLimit;
pub use sync::{MissingItems, SkippedItem, SyncSummary, sync_source};
pub use user::{TldwUser, find_user, find_users};
