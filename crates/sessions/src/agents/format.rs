//! The description of a program whose sessions are read.

use std::path::Path;

use crate::{FollowedSessions, Session, SessionError, SessionFile, SessionTail};

/// A program whose sessions are read.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "functions have no useful text")]
pub struct AgentFormat {
    /// Name in the library, such as `claude-code`.
    pub name: &'static str,
    /// Name for messages.
    pub label: &'static str,
    /// Returns how well a file fits, by its path and its first 8 KiB.
    pub detect: fn(&Path, &[u8]) -> Match,
    /// Reads the sessions of a file.
    pub parse: fn(&SessionFile<'_>) -> Result<Vec<Session>, SessionError>,
    /// Reads a file like `parse`, or the lines after a place of it; `None` if its files are replaced
    /// or change what they said before.
    pub follow: Option<Follow>,
}

/// A function that reads a file, or the lines after a place of it.
pub(super) type Follow =
    fn(&SessionFile<'_>, Option<&SessionTail>) -> Result<FollowedSessions, SessionError>;

/// How well a file fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It is of another kind.
    No,
    /// Its content or its path says that it is a session of this program.
    Yes,
}

impl From<bool> for Match {
    fn from(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

/// Returns whether the first bytes of a file contain all of these texts.
pub(super) fn has_all(head: &[u8], texts: &[&str]) -> bool {
    texts.iter().all(|text| has(head, text))
}

/// Returns whether the first bytes of a file contain a text.
pub(super) fn has(head: &[u8], text: &str) -> bool {
    let text = text.as_bytes();
    head.windows(text.len()).any(|window| window == text)
}

/// Returns whether a path has one of these extensions.
pub(super) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let found = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    extensions.iter().any(|extension| found.eq_ignore_ascii_case(extension))
}

/// Returns whether one of the folders of a path has this name.
pub(super) fn is_below(path: &Path, folder: &str) -> bool {
    path.parent().is_some_and(|path| path.components().any(|part| part.as_os_str() == folder))
}
