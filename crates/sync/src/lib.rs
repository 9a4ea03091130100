//! Own machines in step: the libraries of one user on several machines get the changes of each other,
//! by files in a folder or by a connection (docs/adr/0074-own-machines-in-step.md).
//!
//! Start with [`sync_folder`]: it records what was changed here (`scan.rs`), applies the files of the
//! other machines (`apply.rs`), and writes what the folder does not have (`outgoing.rs`).

mod apply;
mod database;
mod error;
mod exchange_file;
mod folder;
mod folder_files;
mod incoming;
mod key;
mod merge;
mod outgoing;
mod peer;
mod peer_messages;
mod record;
mod references;
mod replica;
mod report;
mod revision;
mod scan;
mod state;

pub use database::SyncedDatabase;
pub use error::{InvalidInput, SyncError};
pub use folder::{FolderOptions, SyncedLibrary, sync_folder};
pub use key::KEY_FILE;
pub use peer::{serve_peer, sync_with_peer};
pub use report::SyncReport;
