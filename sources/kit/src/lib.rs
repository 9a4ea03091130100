//! Foundation shared by all sources: data model, SQLite store and search functions.
//!
//! Start with [`source`], which defines the trait that every source implements.

pub mod journal;
pub mod links;
pub mod listing;
pub mod location;
pub mod model;
pub mod search;
pub mod source;
pub mod store;

mod statements;
