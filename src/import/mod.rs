//! Reads other programs' files as drafts.
//!
//! Files in, [`Draft`](vademecum_kit::model::Draft)s out: no file is changed, and
//! all that is written is the [`Ledger`] of what became of each. Each format is
//! one file; `registry` lists them all. Start reading there, then take `prompts`,
//! the shortest.

mod archive;
mod card;
mod characters;
mod chatgpt;
mod chats;
mod claude;
mod cue_text;
mod digest;
mod error;
mod file;
mod glance;
mod html;
mod importer;
mod keywords;
mod ledger;
mod listing;
mod markdown;
mod media;
mod notes;
mod picture;
mod prompts;
mod registry;
mod subtitles;

pub use archive::ArchiveError;
pub(crate) use digest::digest;
pub use error::{CardError, ImportError};
pub use file::SourceFile;
pub use glance::{Fit, Glance};
pub use importer::{Importer, Problem, Reading};
pub use ledger::{Entry, Ledger, Outcome, State};
pub use listing::{Found, Listing, files};
pub use registry::{Read, importers, read, recognise};
