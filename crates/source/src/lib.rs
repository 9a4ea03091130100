//! The [`Source`] trait, and what the tables of all sources have in common: statements, ranking,
//! lists, locations, and the origins of imported items.
//!
//! Start with [`Source`], which every source implements.

mod earlier_rows;
mod error;
mod folder_counts;
mod import_origins;
mod item_table;
mod listing;
mod location;
mod provenance;
mod rank;
mod searched_columns;
mod source;
mod spelling;
mod statements;
mod suggest;
mod tags;
mod word_forms;

pub use earlier_rows::{are_rows_earlier, update_all_earlier_rows};
pub use error::SourceError;
pub use import_origins::{
    ItemOrigin, KnownOrigin, OWN_DIGEST, find_draft_origin, find_origin, first_origins,
    forget_local_changes, forget_origin, item_origins, list_changed_items, list_item_origins,
    list_origins, record_local_change, record_local_item, record_origin, record_planned_file,
    remove_imported, rename_origin, save_imported,
};
pub use item_table::{ItemTable, KeywordStamp, KeywordTables, OwnStatements};
pub use listing::ListStatements;
pub use location::{
    NamedField, check_loc, missing_place, numbered, read_field_passage, read_located_passage,
};
pub use provenance::{
    ProvenanceRows, add_provenance, copy_provenance, origins_of_items, read_provenance,
    set_content_origins, set_derived_from,
};
pub use rank::{RankPlan, cached_table_statistics, compare_names, rank_table};
pub use source::{FilterParameters, ItemStatements, Source, SyncStatements, shared_parameters};
pub use spelling::SimilarWord;
pub use suggest::{IdType, suggest_items, suggest_items_with, suggest_words};
pub use tags::{TaggedItem, change_tags};
pub use vademecum_store::DerivedFtsTable;
