//! Reads other programs' files as drafts.
//!
//! Files in, [`Draft`](vademecum_kit::model::Draft)s out: no file is changed, and
//! all that is written is the [`Ledger`] of what became of each. Each format is
//! one file; `registry` lists them all. Start reading there, then take `prompts`,
//! the shortest. The one format of our own, `exported`, is there in both
//! directions.

mod archive;
mod card;
mod characters;
mod charx;
mod chatgpt;
mod chats;
mod claude;
mod conversation;
mod digest;
mod encoding;
mod error;
pub mod exported;
mod file;
mod glance;
mod html_notes;
mod importer;
mod json;
mod keep;
mod keywords;
mod ledger;
mod listing;
mod logseq;
mod markdown;
mod media;
mod moment;
mod notes;
mod notion;
mod obsidian;
mod org;
mod outline;
mod parts;
mod patterns;
mod picture;
mod prompt_list;
mod prompts;
mod prompts_json;
mod registry;
mod role_chats;
mod silly_tavern;
mod title;
mod tree;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
#[cfg(test)]
mod mutated;

pub use archive::ArchiveError;
pub use digest::digest;
pub use encoding::EncodingError;
pub use error::{CardError, ImportError};
pub use file::SourceFile;
pub use glance::{Fit, Glance};
pub use importer::{Importer, Problem, Reading};
pub use ledger::{Entry, Ledger, Outcome, State};
pub use listing::{Found, Listing, files};
pub use registry::{Read, importers, read, recognise};
