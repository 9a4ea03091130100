//! Files to import: listing, opening, reading, unpacking.

mod file_walk;
pub(crate) mod neighbours;
pub(crate) mod open_file;
pub(crate) mod source_file;
pub(crate) mod stamp;
mod sync_copy;
pub(crate) mod time_limit;

pub(crate) use self::stamp::database_log;
pub(crate) use vademecum_formats::archive;

pub use self::{
    file_walk::{FileEntry, FileWalk, walk_files},
    source_file::SourceFile,
    stamp::FileStamp,
    sync_copy::{placeholder_of, sync_copy_reason},
    time_limit::TimeLimit,
};
