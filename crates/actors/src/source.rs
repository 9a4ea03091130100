//! Actor of one source of one user.
//!
//! The actor is created with its user's database and nothing else, so messages carry no user and
//! cannot reach the data of another one. Blocking work runs on the library's blocking pool.

mod actor;
mod damage;
mod handle;
mod item_links;
mod reads;
mod restriction;
mod versions;
mod writes;

pub(crate) use self::item_links::{ItemReading, OwnLinks};
pub use self::{handle::SourceHandle, reads::CompletionKind, writes::OriginParts};
