//! Importers: they read files of other programs into [`Draft`](vademecum_model::Draft)s.
//!
//! Importers never change a file. The only thing written is the [`Ledger`], which records the
//! result of each file. Each family of formats has a folder and each format a file in it; `registry`
//! lists all importers. Start reading there, then read `prompts::prompts_csv`, the shortest importer.
//! `exported` is our own format and contains both its reader and its writer.

mod error;
mod importer;

// Families of formats.
mod archives;
mod characters;
mod chats;
mod documents;
pub mod exported;
mod mail;
mod notes;
mod prompts;
mod reading_lists;
mod sessions;
mod transcripts;

// From a path to the result of each file.
mod detection;
mod files;
mod ledger;
mod reader;
mod registry;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz_parsers;
#[cfg(test)]
mod fuzz_tests;

pub use detection::{Confidence, FileProbe, UnsupportedFiles};
pub use error::{CardError, ImportError};
pub use files::{
    FileEntry, FileStamp, FileWalk, SourceFile, TimeLimit, placeholder_of, sync_copy_reason,
    walk_files,
};
pub use importer::{Importer, ParsedFile, Problem};
pub use ledger::{ImportOutcome, LastImport, Ledger, LedgerEntry, PartialDocument, TwoWayFolder};
pub use notes::{
    InsertPlace, appended_text, edit_note_text, insert_text, replace_parts, set_properties,
};
pub use prompts::{FoundSkill, SKILL_FILE, SkillFile, SkillProblem, find_skills, parse_skill};
pub use reader::{
    Continuation, FileRequest, ReaderLimits, ReaderPool, Turn, probe_sandbox, run_reader,
    set_reader_program,
};
pub use registry::{Claim, ImportAttempt, describe_unsupported, detect_importer, importers_for};
pub use sessions::FollowMode;
use vademecum_formats::text;
pub use vademecum_formats::{
    archive::ArchiveError,
    digest,
    sqlite_image::database_of,
    text::{EncodingError, TextEncoding, decode_text},
};
