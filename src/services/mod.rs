//! Services that commands, tools and pages share. They take sources, libraries and settings as
//! arguments, report progress to a callback and return data; they print nothing.

pub(crate) mod import;
pub(crate) mod progress;
pub(crate) mod text;
