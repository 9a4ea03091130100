//! What every importer promises, and what it hands back.

use std::fmt::{self, Debug};

use serde::{Deserialize, Serialize};
use vademecum_kit::model::{Draft, SourceName};

use super::{Fit, Glance, ImportError, SourceFile};

/// Reads one kind of file.
pub trait Importer: Debug + Sync {
    /// The source that its drafts go into.
    fn source(&self) -> SourceName;

    /// What it reads, as a user would say it: `Markdown notes (.md)`.
    fn format(&self) -> &'static str;

    /// How surely a file is for it, by its name and by how it begins.
    fn recognise(&self, glance: &Glance) -> Fit;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where it is: `row 12`, ``conversation `x` ``, a path; empty for a whole
    /// file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Why it was left out.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(formatter, "{}: ", self.place)?;
        }
        formatter.write_str(&self.reason)
    }
}
