//! Services that commands, tools and pages share. They take sources, libraries and settings as
//! arguments, report progress to a callback and return data; they print nothing.

pub(crate) mod atomic_write;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod clip;
pub(crate) mod custom_tools;
pub(crate) mod export;
pub(crate) mod file_error;
pub(crate) mod import;
pub(crate) mod library_folders;
pub(crate) mod migrate;
pub(crate) mod permalink;
pub(crate) mod progress;
pub(crate) mod text;
pub(crate) mod topic_map;
pub(crate) mod two_way;
