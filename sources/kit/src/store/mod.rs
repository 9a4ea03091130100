//! One SQLite file of one user: opened late, migrated once, read by many,
//! written by one.

mod beside;
mod copy;
mod database;
mod derived;
mod error;
mod file;
mod health;
mod holdings;
mod imported;
mod index;
mod memory;
mod pending;
mod reader;
mod table;
mod tagged;
mod turns;
mod unwritten;
mod varint;
mod waits;
mod watch;
mod writer;

pub use beside::{beside, files_of};
pub use database::Database;
pub use derived::{Derived, Drift};
pub use error::StoreError;
pub use file::{Store, make_private_folder};
pub use health::{Health, Part, Problem};
pub use imported::{
    changed_here, first_origins, remove_once, rename_origin, save_once, written_here,
};
pub(crate) use index::Index;
pub(crate) use memory::{Lengths, Memory};
pub use reader::{Parameters, Reader};
pub use table::{Column, Table};
pub use tagged::{Tagged, retag};
pub use turns::{begin_turn, give_way};
pub use unwritten::Unwritten;
pub use watch::Watch;
pub use writer::{Durability, Writer};
