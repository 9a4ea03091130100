//! Collections: documents from folders and database tables, shared or owned by one user.
//!
//! [`Catalogue`] lists the collections and decides who may see them. [`Ingest`] synchronises a
//! collection with the folders or [`TableDatabases`] of its [`CollectionPlan`]. [`retrieve`]
//! searches several collections; [`CollectionSource`] exposes one as a source like those of a
//! library.

mod build_claim;
mod bulk_load;
mod catalogue;
mod chunk_vectors;
mod chunking;
mod collection_files;
mod collection_record;
mod document_source;
mod document_url;
mod error;
mod folder_scan;
mod folder_source;
mod generation_lease;
mod ingest;
mod plan;
mod prepared_batch;
mod report;
pub mod retrieve;
mod rights;
mod row_mapping;
mod sections;
mod shown_names;
mod source;
mod sql;
mod sync;
mod table_source;
mod table_sql;
mod tables;

pub use catalogue::{Catalogue, VisibleCollection};
pub use collection_record::CollectionRecord;
pub use error::CollectionError;
pub use ingest::{Ingest, ProgressCallback};
pub use plan::{CollectionPlan, CollectionSpec};
pub use report::SyncReport;
pub use rights::CollectionRights;
pub use source::CollectionSource;
pub use sync::{SyncError, SyncJobs, SyncStart};
pub use table_sql::{TableSql, to_parameter};
pub use tables::TableDatabases;
