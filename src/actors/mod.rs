//! Who does the work: one actor for each source of each user, one that merges
//! them, one for each conversation.
//!
//! Asking goes down (session → aggregator → source), answering goes up. From
//! the roster on, whose data it is about is carried by which address is used,
//! never by a field.

mod aggregator;
mod asked;
mod awaited;
mod changes;
mod desk;
mod error;
mod figures;
mod indexer;
mod legs;
mod library;
mod mirror;
mod pieces;
mod roster;
mod seen;
mod session;
mod source;
mod spaces;
mod wanted;

pub use awaited::{Awaited, Waiting};
pub use error::{CallError, StoreFault, chain};
pub use legs::{Vectors, Way};
pub use library::Library;
pub use mirror::Tldw;
pub use roster::{Roster, Shelf};
pub use session::{Page, Read, Search, Session};
pub use source::{SourceHandle, Wish};
pub use wanted::{Failed, Wanted};
