//! Replication: databases whose rows an archive keeps for several servers, each of which has copies.
//!
//! [`FollowedData`] connects the stores of a data folder with an
//! [`Archive`](vademecum_store::Archive); the store knows it as a
//! [`Replication`](vademecum_store::Replication). [`ArchivedStore`] moves databases into an archive and
//! out of it. `postgres` is the archive in PostgreSQL (feature `postgres`).

mod followed_data;
mod followed_tables;
mod follower;
mod part_group;
#[cfg(feature = "postgres")]
pub mod postgres;
mod table_digests;
mod transfer;
mod upgrade;

pub use followed_data::FollowedData;
pub use follower::FollowOptions;
pub use table_digests::{TableDigest, TableDigests};
pub use transfer::{ArchivedStore, Upload};
