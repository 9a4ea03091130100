//! What every importer promises, and what it hands back.

use std::{fmt::Debug, path::Path};

use vademecum_kit::model::{Draft, SourceName};

use super::{ImportError, SourceFile};

/// Reads one kind of file.
pub trait Importer: Debug + Sync {
    /// The source that its drafts go into.
    fn source(&self) -> SourceName;

    /// What it reads, as a user would say it: `Markdown notes`.
    fn format(&self) -> &'static str;

    /// Whether a file of this name is for it.
    fn accepts(&self, path: &Path) -> bool;

    /// Reads a file, or says why it cannot be read at all.
    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError>;
}

/// What was read from one file.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What is to be saved.
    pub drafts: Vec<Draft>,
    /// Parts of the file that could not be read. The rest goes in.
    pub problems: Vec<Problem>,
}

impl From<Draft> for Reading {
    fn from(draft: Draft) -> Self {
        Self { drafts: vec![draft], problems: Vec::new() }
    }
}

/// A part of a file, or a file among others, that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is: `row 12`, ``conversation `x` ``, a path.
    pub place: String,
    /// Why it was left out.
    pub reason: String,
}

/// Whether the name of a file ends in one of `extensions`, in any case.
pub(super) fn ends_in(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|found| extensions.iter().any(|known| known.eq_ignore_ascii_case(found)))
}
