//! An archive in `PostgreSQL`, which keeps the databases of several servers.
//!
//! [`PostgresArchive`] implements [`Archive`](vademecum_store::Archive) with plain
//! statements, whose conditions begin with the user, so that its tables can be distributed by user.
//!
//! A write whose answer is lost may be stored. It is proposed again under its identifier until an
//! answer arrives: the repetition writes too, so that a standby that must confirm it confirms the
//! first write as well.

mod archive;
mod blocking;
mod connection;
mod entry_columns;
mod failure;
mod heads;
mod identity;
mod proposed_write;
mod row_compression;
mod statements;

pub use archive::{ArchiveOptions, PostgresArchive, SetupError};
