//! Reads other programs' files as drafts.
//!
//! Files in, [`Draft`](vademecum_kit::model::Draft)s out: nothing is written
//! here, and no file is changed. Each format is one file; `registry` lists
//! them all. Start reading there, then take `prompts`, the shortest.

mod archive;
mod card;
mod characters;
mod chatgpt;
mod chats;
mod claude;
mod digest;
mod encoding;
mod error;
mod file;
mod glance;
mod importer;
mod keywords;
mod listing;
mod markdown;
mod media;
mod notes;
mod picture;
mod prompts;
mod registry;

pub use archive::ArchiveError;
pub(crate) use digest::digest;
pub use encoding::EncodingError;
pub use error::{CardError, ImportError};
pub use file::SourceFile;
pub use glance::{Fit, Glance};
pub use importer::{Importer, Problem, Reading};
pub use listing::{Found, Listing, files};
pub use registry::{importers, read, recognise};
