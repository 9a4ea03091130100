//! Collections: documents that come from elsewhere, shared or of one user.
//!
//! [`Catalogue`] knows which there are and who may see them.

mod catalogue;
mod error;
pub mod retrieve;
mod sql;

pub use catalogue::{Catalogue, Opened, Record};
pub use error::CollectionError;
