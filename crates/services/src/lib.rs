//! Services that commands, tools and pages share. They take sources, libraries and settings as
//! arguments, report progress to a callback and return data; they print nothing.

pub mod atomic_write;
pub mod backup;
pub mod check;
pub mod clip;
pub mod custom_tools;
pub mod export;
pub mod file_error;
pub mod import;
pub mod library_folders;
pub mod migrate;
pub mod permalink;
pub mod progress;
pub mod template;
pub mod text;
pub mod topic_map;
pub mod two_way;
