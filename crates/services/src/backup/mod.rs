//! Backups: a folder with copies of the databases and a manifest with their checksums.

mod create;
mod error;
mod manifest;
mod restore;

pub use create::create_backup;
pub use manifest::Manifest;
pub use restore::{BackupKeys, restore_backup, verify_backup};
