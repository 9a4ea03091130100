//! Reading of a session's file that grows: the whole file once, then the lines that were added.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

use serde::{Deserialize, Serialize};
use vademecum_sessions::{AGENTS, FollowedSessions, SessionFile, SessionTail};

use super::{
    agent_sessions::{unread_lines, with_session_file},
    session_drafts::add_drafts,
};
use crate::{
    ParsedFile, SourceFile, TimeLimit,
    files::{neighbours::Neighbours, open_file::OpenFile},
};

/// Maximum number of added bytes that are read at once. The file is read as a whole if it has more.
const MAX_ADDED_BYTES: u64 = 64 * 1_024 * 1_024;

/// Whether the lines that are added to a session's file are read alone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum FollowMode {
    /// The file is read as a whole.
    #[default]
    Off,
    /// The file is read as a whole, and the result says where to continue.
    Start,
    /// The lines after this place are read; the whole file if they do not only follow the earlier ones.
    After(Box<SessionTail>),
}

/// Reads a whole file of sessions, so that its lines can be followed; `None` if its program
/// replaces files.
pub(crate) fn start_following(file: &SourceFile) -> Option<ParsedFile> {
    with_session_file(file, |agent, session_file| {
        let followed = (agent.follow?)(session_file, None).ok()?;
        Some(parsed_file(followed, session_file, None))
    })?
}

/// Reads the lines after a place, and returns them with the number of bytes that were read. Returns
/// `None` if the file was replaced, or if its lines change what was read before.
pub(crate) fn continue_session(
    opened: &OpenFile,
    neighbours: &Neighbours,
    tail: &SessionTail,
    time_limit: TimeLimit,
) -> Option<(ParsedFile, u64)> {
    let follow = AGENTS.iter().filter(|agent| agent.name == tail.agent).find_map(|it| it.follow)?;
    let begin = tail.offset.checked_sub(tail.anchor_bytes())?;
    if opened.stamp.size < tail.offset {
        return None;
    }
    let mut file = &opened.file;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(begin)).ok()?;
    file.take(MAX_ADDED_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let (before, added) = bytes.split_at_checked(usize::try_from(tail.anchor_bytes()).ok()?)?;
    if bytes.len() as u64 > MAX_ADDED_BYTES || !tail.is_anchored_in(before) {
        return None;
    }
    let read_neighbour = |path: &Path| {
        let opened = neighbours.open(path)?;
        SourceFile::read(opened, time_limit).ok().map(|neighbour| neighbour.bytes)
    };
    let session_file = SessionFile {
        path: &opened.path,
        bytes: added,
        modified: opened.modified,
        read_neighbour: &read_neighbour,
    };
    match follow(&session_file, Some(tail)) {
        Ok(followed) => {
            Some((parsed_file(followed, &session_file, Some(tail)), bytes.len() as u64))
        }
        // The whole file shows the reason.
        Err(_) => None,
    }
}

/// Returns the drafts of sessions: of continued ones, what changed since `before`.
fn parsed_file(
    followed: FollowedSessions,
    file: &SessionFile<'_>,
    before: Option<&SessionTail>,
) -> ParsedFile {
    let FollowedSessions { sessions, tail } = followed;
    let mut parsed = ParsedFile::default();
    let added = before.is_none_or(|before| before.offset < tail.offset);
    for session in sessions.into_iter().filter(|_| added) {
        let known_asides = before.map_or(0, SessionTail::aside_count);
        add_drafts(&tail.agent, session, known_asides, file.modified, &mut parsed);
    }
    // All of the file, not only of the added lines.
    parsed.problems.extend(unread_lines(tail.unread()));
    parsed.tail = Some(Box::new(tail));
    parsed
}
