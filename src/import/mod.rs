//! Reads other programs' files as drafts.
//!
//! Files in, [`Draft`](vademecum_kit::model::Draft)s out: nothing is written
//! here, and no file is changed. Each format is one file; `registry` lists
//! them all. Start reading there, then take `prompts`, the shortest. The one
//! format of our own, `exported`, is there in both directions.

mod archive;
mod card;
mod characters;
mod charx;
mod chatgpt;
mod chats;
mod claude;
mod cue_text;
mod digest;
mod error;
pub mod exported;
mod file;
mod glance;
mod html;
mod importer;
mod keywords;
mod listing;
mod markdown;
mod media;
mod notes;
mod outline;
mod patterns;
mod picture;
mod prompt_list;
mod prompts;
mod prompts_json;
mod registry;
mod subtitles;

pub use archive::ArchiveError;
pub(crate) use digest::digest;
pub use error::{CardError, ImportError};
pub use file::SourceFile;
pub use glance::{Fit, Glance};
pub use importer::{Importer, Problem, Reading};
pub use listing::{Found, Listing, files};
pub use registry::{importers, read, recognise};
