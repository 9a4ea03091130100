//! Importers: they read files of other programs into [`Draft`](vademecum_kit::model::Draft)s.
//!
//! Importers never change a file. The only thing written is the [`Ledger`], which records the
//! result of each file. Each format has one file; `registry` lists all importers. Start reading
//! there, then read `prompts_csv`, the shortest importer. `exported` is our own format and contains
//! both its reader and its writer.

mod archive;
mod card;
mod characters;
mod charx;
mod chat_exports;
mod chatgpt;
mod claude;
mod conversation;
mod conversation_tree;
mod datetime;
mod digest;
mod encoding;
mod error;
pub mod exported;
mod fabric_patterns;
mod file;
mod file_probe;
mod file_walk;
mod google_keep;
mod html_notes;
mod importer;
mod json;
mod json_shape;
mod keywords;
mod ledger;
mod logseq;
mod markdown;
mod media;
mod message_content;
mod note_edit;
mod notes;
mod notion;
mod notion_export;
mod obsidian;
mod open_file;
mod org;
mod png_card;
mod prompt_collector;
mod prompts_csv;
mod prompts_json;
mod reader;
mod registry;
mod role_chats;
mod silly_tavern;
mod skill_folder;
mod title;
mod unsupported;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz_parsers;
#[cfg(test)]
mod fuzz_tests;

pub use archive::ArchiveError;
pub use digest::digest;
pub use encoding::{EncodingError, TextEncoding, decode_text};
pub use error::{CardError, ImportError};
pub use file::SourceFile;
pub use file_probe::{Confidence, FileProbe};
pub use file_walk::{FileEntry, FileWalk, walk_files};
pub use importer::{Importer, ParsedFile, Problem};
pub use ledger::{FileStamp, ImportOutcome, Ledger, LedgerEntry, TwoWayFolder};
pub use note_edit::edit_note_text;
pub use reader::{ReaderLimits, ReaderPool, run_reader, set_reader_program};
pub use registry::{ImportAttempt, detect_importer, importers_for};
pub use skill_folder::{FoundSkill, SKILL_FILE, SkillFile, SkillProblem, find_skills, parse_skill};
pub use unsupported::{UnsupportedFiles, describe_unsupported};
