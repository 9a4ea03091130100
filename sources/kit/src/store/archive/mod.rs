//! Following an archive: copies of databases that any number of servers share.
//!
//! Start with [`Archive`], the interface of the server that keeps the rows. A [`Follower`] connects a
//! store with it, and [`FollowedData`] makes followers for the databases of a data folder.

mod follow_status;
mod followed_data;
mod followed_store;
mod followed_tables;
mod follower;
mod interface;
mod part_group;
mod replacement;
mod row_codec;
mod table_digests;
mod transfer;
mod upgrade;

pub use follow_status::{FollowCounts, FollowStatus};
pub use followed_data::FollowedData;
pub(super) use followed_tables::FollowedTables;
pub use follower::{FollowOptions, Follower};
pub(super) use follower::{FollowedFile, Proposal, forget_state, mark_new};
pub use interface::{
    Archive, ArchiveError, Entry, Followed, Head, PartName, Put, SharedValue, WriteId,
};
pub use table_digests::{FileState, TableDigest, TableDigests};
pub use transfer::Upload;
