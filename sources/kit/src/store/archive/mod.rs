//! Following an archive: copies of databases that any number of servers share.

mod interface;

pub use interface::{
    Archive, ArchiveError, Entry, Followed, Head, PartName, Put, SharedValue, WriteId,
};
