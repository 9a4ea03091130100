//! Collections: documents that come from elsewhere, shared or of one user.
//!
//! [`Catalogue`] knows which there are and who may see them; [`Ingest`] makes
//! them what a [`Plan`] says; [`retrieve`] searches them; [`CollectionSource`]
//! is one of them as a source like those of a library.

mod catalogue;
mod chunking;
mod error;
mod files;
mod folder;
mod ingest;
mod plan;
mod report;
pub mod retrieve;
mod sections;
mod source;
mod sql;
mod sync;
mod vectors;

pub use catalogue::{Catalogue, Opened, Record};
pub use error::CollectionError;
pub use ingest::{Ingest, Progress};
pub use plan::{Plan, Wanted};
pub use report::Report;
pub use source::CollectionSource;
pub use sync::{Begun, SyncError, Syncs};
