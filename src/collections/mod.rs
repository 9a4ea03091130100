//! Collections: documents that come from elsewhere, shared or of one user.
//!
//! [`Catalogue`] knows which there are and who may see them; [`Ingest`] makes
//! them what a [`Plan`] says, of folders or of [`Tables`]; [`retrieve`] searches them;
//! [`CollectionSource`] is one of them as a source like those of a library.

mod catalogue;
mod chunking;
mod error;
mod files;
mod folder;
mod ingest;
mod mapping;
mod origin;
mod plan;
mod report;
pub mod retrieve;
mod rows;
mod sections;
mod source;
mod sql;
mod statement;
mod sync;
mod tables;
mod vectors;
mod walk;

pub use catalogue::{Catalogue, Opened, Record};
pub use error::CollectionError;
pub use ingest::{Ingest, Progress};
pub use plan::{Plan, Wanted};
pub use report::Report;
pub use source::CollectionSource;
pub(crate) use statement::{TableSql, parameter};
pub use sync::{Begun, SyncError, Syncs};
pub use tables::Tables;
