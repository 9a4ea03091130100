//! The revisions of the protocol, and what differs between them on the wire.
//! Nothing outside this room knows of a difference.

mod dated;
mod era;
mod mirror;
mod outcome;

pub use dated::Revision;
pub(crate) use era::{Era, Meta, decide};
pub use mirror::Mirror;
pub(crate) use mirror::check_parameters;
pub(crate) use outcome::{Caching, Outcome};
