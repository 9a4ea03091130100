//! The [`Importer`] trait and its result types.

use std::{fmt::Debug, path::Path};

pub use vademecum_formats::Problem;
use vademecum_model::{Draft, SourceName};
use vademecum_sessions::SessionTail;
use vademecum_vault::journal::ExportedVersions;

use crate::{Confidence, FileProbe, ImportError, SourceFile};

/// Reads files of one format.
pub trait Importer: Debug + Sync {
    /// Source that receives the drafts.
    fn source(&self) -> SourceName;

    /// Returns the name of the format for messages, such as `Markdown notes (.md)`.
    fn format_name(&self) -> &'static str;

    /// Returns the confidence that the probed file has this format.
    fn detect(&self, probe: &FileProbe) -> Confidence;

    /// Parses a file into drafts. Fails if no part of it can be read.
    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError>;
}

/// Drafts and problems of one file.
#[derive(Clone, Debug, Default)]
pub struct ParsedFile {
    /// Drafts to save.
    pub drafts: Vec<Draft>,
    /// Parts of the file that could not be read. The drafts are saved nevertheless.
    pub problems: Vec<Problem>,
    /// Earlier versions of the only draft, from an export.
    pub versions: Option<ExportedVersions>,
    /// Whether parsing stopped at its time limit: with more time, the file has more to read.
    pub is_cut: bool,
    /// Number of the pages before the first one that was not read, if another reading can begin there; 0 if it
    /// begins with the file. The only draft ends with these pages, and its digest is that of this part.
    pub read_pages: u32,
    /// Where the lines of a session that are added later begin, if that was asked for.
    pub tail: Option<Box<SessionTail>>,
}

impl ParsedFile {
    /// Returns the problem of a file that was read up to a page.
    pub fn unread_pages(&self) -> Option<Problem> {
        (self.is_cut && self.read_pages > 0).then(|| Problem {
            place: format!("page {} and what follows", self.read_pages + 1),
            reason: "reading it takes longer than the time limit of a file".to_owned(),
        })
    }
}

impl From<Draft> for ParsedFile {
    fn from(draft: Draft) -> Self {
        Self { drafts: vec![draft], ..Self::default() }
    }
}

/// A function that parses a file that was unpacked from an archive, with the importer that detects
/// it. The importer of an archive is given this function, because it must not know the others.
pub(crate) type ParsePacked = fn(file: SourceFile, archive: &Path) -> PackedContent;

/// The content of a file that was unpacked from an archive.
#[derive(Debug)]
pub(crate) enum PackedContent {
    /// Drafts and problems. The origins are parts of the archive.
    Parsed(ParsedFile),
    /// The file could not be read, for this reason.
    Failed(String),
    /// No importer reads this format.
    Unsupported(String),
}
