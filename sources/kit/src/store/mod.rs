//! One SQLite database file: opened on first use, migrated once, with many readers and one writer.

mod access;
pub mod archive;
mod change_detector;
mod compressed_text;
mod copy;
mod data_folder;
mod database;
mod error;
mod file;
mod fts_consistency;
mod fts_index;
mod fts_table;
mod health;
mod import_origins;
mod index_cache;
mod pool_wait;
mod private_files;
mod read_only_file;
mod reader;
mod row_filter;
mod schema_comparison;
mod sidecar_files;
mod source_stats;
mod tags;
mod term_page;
mod varint;
mod write_buffer;
mod writer;
mod yielding;

pub use change_detector::ChangeDetector;
pub use compressed_text::{TextCompressor, TextDecompressor, char_slice, train_text_dictionary};
pub(crate) use compressed_text::{read_stored_text, to_stored_text};
pub use data_folder::DataFolder;
pub use database::Database;
pub use error::StoreError;
pub use file::Store;
pub use fts_consistency::{DerivedFtsTable, FtsDifferences};
pub(crate) use fts_index::{FtsIndex, LONG_ROW_WORDS, PASSAGE_WORDS};
pub use fts_table::{FtsColumn, FtsTable, VARIANT_WEIGHT};
pub use health::{DamagedPart, StoreHealth, StoreProblem};
pub(crate) use import_origins::{
    KnownOrigin, OWN_DIGEST, find_origin, forget_local_changes, list_changed_items, record_origin,
    record_planned_file,
};
pub use import_origins::{
    first_origins, imported_item, record_local_change, record_local_item, remove_imported,
    rename_origin, save_imported, set_content_origins,
};
pub(crate) use index_cache::{IndexCache, RowLengths};
pub use private_files::{create_private_folder, make_private};
pub use read_only_file::ReadOnlyFile;
pub use reader::{Parameters, Reader};
pub use row_filter::{FilterStatements, RowFilter};
pub use schema_comparison::SchemaDifference;
pub use sidecar_files::{database_files, sidecar_path};
pub use tags::{TaggedItem, change_tags};
pub use vademecum_fts5::sqlite_heap_bytes;
pub use writer::{Durability, Writer};
pub use yielding::{begin_work, cooperative_yield};
