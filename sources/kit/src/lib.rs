//! Foundation shared by all sources: data model, SQLite store and search functions.
//!
//! Start with [`source`], which defines the trait that every source implements.

pub mod model;
pub mod search;
pub mod source;
pub mod store;

/// Includes the statement `sql/<name>.sql` of the calling crate.
#[macro_export]
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/", $name, ".sql"))
    };
}
