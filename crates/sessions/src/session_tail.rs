//! Following of a session's file that grows: where reading ended, and what the next lines need.
//!
//! A program appends lines to the file of a session. A [`LineReader`] reads the lines after a
//! [`SessionTail`] like those of a whole file, so that an appended line costs only itself (ADR 78).

use std::hash::{DefaultHasher, Hasher as _};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Session, SessionError, SessionFile, session_builder::SessionBuilder};

/// Number of bytes before the place where reading ended that must still be the same.
const ANCHOR_BYTES: usize = 1_024;

/// A form of sessions whose file grows by lines.
pub(crate) trait LineReader: Default + Serialize + DeserializeOwned {
    /// Reads the lines after those that were read before. Returns the number of bytes that need not
    /// be read again. Fails if a line changes what earlier ones said, such as a rewind.
    fn read(&mut self, bytes: &[u8], builder: &mut SessionBuilder) -> Result<usize, Rewritten>;

    /// Adds what the name of the file and the files beside it say.
    fn finish(&self, file: &SessionFile<'_>, session: &mut Session);
}

/// The lines do not only follow the earlier ones: the whole file has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rewritten;

/// The place in the file of a session where reading ended, and the state of its reader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionTail {
    /// Name of the program.
    pub agent: String,
    /// Number of bytes of the file that were read.
    pub offset: u64,
    anchor: u64,
    anchor_bytes: usize,
    builder: SessionBuilder,
    reader: Value,
}

impl SessionTail {
    /// Returns the number of bytes before `offset` that [`is_anchored_in`](Self::is_anchored_in) needs.
    pub fn anchor_bytes(&self) -> u64 {
        self.anchor_bytes as u64
    }

    /// Returns the number of lines that could not be read.
    pub fn unread(&self) -> usize {
        self.builder.session.unread
    }

    /// Returns the number of asides that were read.
    pub fn aside_count(&self) -> usize {
        self.builder.session.earlier_asides + self.builder.session.asides.len()
    }

    /// Returns whether the bytes before `offset` are those that were read. Otherwise, the file was
    /// replaced.
    pub fn is_anchored_in(&self, before: &[u8]) -> bool {
        before.len() == self.anchor_bytes && hash(before) == self.anchor
    }
}

/// Sessions of a file, and where to continue.
#[expect(missing_debug_implementations, reason = "its content is a conversation")]
pub struct FollowedSessions {
    /// The sessions; of a continued one, its last turn and what follows.
    pub sessions: Vec<Session>,
    /// Place where reading ended.
    pub tail: SessionTail,
}

/// Reads a whole file, without its later lines in mind.
pub(crate) fn parse_lines<R: LineReader>(
    file: &SessionFile<'_>,
) -> Result<Vec<Session>, SessionError> {
    follow_lines::<R>("", file, None).map(|followed| followed.sessions)
}

/// Reads a whole file, or the bytes after `tail`. Fails with [`SessionError::Rewritten`] if they
/// change what was read before.
pub(crate) fn follow_lines<R: LineReader>(
    agent: &str,
    file: &SessionFile<'_>,
    tail: Option<&SessionTail>,
) -> Result<FollowedSessions, SessionError> {
    let (mut reader, mut builder, offset) = match tail {
        Some(tail) => {
            let reader = serde_json::from_value::<R>(tail.reader.clone())?;
            (reader, tail.builder.clone(), tail.offset)
        }
        None => (R::default(), SessionBuilder::default(), 0),
    };
    let bytes = file.unpacked()?;
    let read = reader.read(&bytes, &mut builder).map_err(|Rewritten| SessionError::Rewritten)?;
    let before = bytes.get(read.saturating_sub(ANCHOR_BYTES)..read).unwrap_or_default();
    // After a short addition, the anchor is what was added.
    let is_new = read > 0 || tail.is_none();
    let kept = tail.filter(|_| !is_new);
    let tail = SessionTail {
        agent: agent.to_owned(),
        offset: offset + read as u64,
        anchor: kept.map_or_else(|| hash(before), |tail| tail.anchor),
        anchor_bytes: kept.map_or(before.len(), |tail| tail.anchor_bytes),
        builder: builder.tail(),
        reader: serde_json::to_value(&reader)?,
    };
    reader.finish(file, &mut builder.session);
    Ok(FollowedSessions { sessions: builder.finish().into_iter().collect(), tail })
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
