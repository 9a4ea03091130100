//! Moves the databases of a data folder into an archive, and out of it.
//!
//! Each database is moved alone and compared before its file is marked, so that an interrupted
//! migration can be repeated. Start with `migration`.

mod download;
mod error;
mod migration;
mod plan;
mod report;
mod upload;

pub use migration::{Direction, Migration};
pub(crate) use plan::local_stores;
pub use report::{Amount, OwnerReport};
