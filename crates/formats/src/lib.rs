//! Formats of other programs: what their files have in common, and parsers that see no file system.
//!
//! A parser gets the bytes of one file and returns drafts. `vademecum-import` opens files, detects
//! their formats, and runs parsers in a process of its own. Start with `format`; `registry` lists
//! all formats.

pub mod archive;
mod assistants;
mod chats;
mod digest;
mod format;
pub mod html_markdown;
mod lz4;
mod memories;
mod notes;
mod organizers;
mod posts;
mod reading;
mod registry;
pub mod sqlite_image;
pub mod text;
mod texts;
mod xml;

pub use self::{
    digest::digest,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat, Problem},
    registry::ALL_FORMATS,
};
