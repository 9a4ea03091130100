//! Collections: documents that come from elsewhere, shared or of one user.
//!
//! [`Catalogue`] knows which there are and who may see them; [`CollectionSource`]
//! is one of them as a source like those of a library.

mod catalogue;
mod error;
pub mod retrieve;
mod source;
mod sql;

pub use catalogue::{Catalogue, Opened, Record};
pub use error::CollectionError;
pub use source::CollectionSource;
