//! The importer of all agents' sessions.

use std::path::Path;

use vademecum_model::SourceName;
use vademecum_sessions::{AgentFormat, SessionFile, find_agent};

use super::session_drafts::add_drafts;
use crate::{Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile};

/// Number of bytes by which a program is recognised.
const HEAD_BYTES: usize = 8 * 1_024;

/// Importer of sessions of coding agents.
#[derive(Debug)]
pub(crate) struct AgentSessionImporter;

impl Importer for AgentSessionImporter {
    fn source(&self) -> SourceName {
        SourceName::Chats
    }

    fn format_name(&self) -> &'static str {
        "sessions of coding agents (.jsonl, .json, .db)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByContent.when(find_agent(probe.path(), probe.head()).is_some())
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        with_session_file(file, parse_sessions)
            .ok_or_else(|| ImportError::NotAChatExport { path: file.path.clone() })
    }
}

/// Calls `read` with the program whose sessions are in a file, and the file; `None` if there is no such
/// program.
pub(super) fn with_session_file<T>(
    file: &SourceFile,
    read: impl FnOnce(&'static AgentFormat, &SessionFile<'_>) -> T,
) -> Option<T> {
    let head = file.bytes.get(..HEAD_BYTES).unwrap_or(&file.bytes);
    let agent = find_agent(&file.path, head)?;
    let read_neighbour = |path: &Path| {
        let read = file.read_neighbour(path)?;
        read.ok().map(|neighbour| neighbour.bytes)
    };
    let session_file = SessionFile {
        path: &file.path,
        bytes: &file.bytes,
        modified: file.modified,
        read_neighbour: &read_neighbour,
    };
    Some(read(agent, &session_file))
}

fn parse_sessions(agent: &AgentFormat, file: &SessionFile<'_>) -> ParsedFile {
    let mut parsed = ParsedFile::default();
    match (agent.parse)(file) {
        Ok(sessions) => {
            let unread = sessions.iter().map(|session| session.unread).sum::<usize>();
            parsed.problems.extend(unread_lines(unread));
            for session in sessions {
                add_drafts(agent.name, session, 0, file.modified, &mut parsed);
            }
        }
        Err(error) => {
            let reason = format!("as a session of {}: {error}", agent.label);
            parsed.problems.push(Problem { place: String::new(), reason });
        }
    }
    parsed
}

/// Returns the problem of a file with lines that could not be read.
pub(super) fn unread_lines(unread: usize) -> Option<Problem> {
    let reason = format!("{unread} of its lines could not be read");
    (unread > 0).then_some(Problem { place: String::new(), reason })
}

#[cfg(test)]
mod tests {
    use vademecum_model::{ChatDraft, DraftBody};

    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    const CLAUDE: &str = concat!(
        r#"{"type":"user","uuid":"1","parentUuid":null,"timestamp":"2026-01-01T08:00:00Z","sessionId":"s","cwd":"/home/ada/garden","gitBranch":"main","message":{"role":"user","content":"Which bed?"}}"#,
        "\n",
        r#"{"type":"assistant","uuid":"2","parentUuid":"1","timestamp":"2026-01-01T08:00:01Z","sessionId":"s","message":{"id":"m","role":"assistant","model":"claude","content":[{"type":"thinking","thinking":"I look."},{"type":"text","text":"Bed 7."},{"type":"tool_use","name":"Bash","input":{"command":"cat beds.txt"}}]}}"#,
        "\n{broken}\n{broken}\n{\"torn",
    );

    fn chats(parsed: &ParsedFile) -> Vec<(&str, &ChatDraft)> {
        let drafts = parsed.drafts.iter().filter_map(|draft| match &draft.body {
            DraftBody::Chat(chat) => Some((draft.origin.as_str(), chat)),
            _ => None,
        });
        drafts.collect()
    }

    #[test]
    fn session_is_a_conversation_with_a_log() {
        let path = "/claude/s.jsonl";
        let probe = probe_file("s.jsonl", CLAUDE);
        assert_eq!(AgentSessionImporter.detect(&probe), Confidence::ByContent);
        let parsed = AgentSessionImporter.parse(&SourceFile::in_memory(path, CLAUDE)).unwrap();
        let found = chats(&parsed);
        let [(origin, chat), (log_origin, log)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((*origin, *log_origin), ("claude-code:s", "claude-code:s#log"));
        let session = chat.session.as_ref().unwrap();
        assert_eq!(session.project.as_deref(), Some("garden"));
        assert_eq!((chat.messages.len(), chat.messages[1].commands.len()), (2, 1));
        assert_eq!(log.fork.as_ref().unwrap().of, "claude-code:s");
        assert!(log.session.as_ref().unwrap().is_log);
        assert_eq!((log.messages.len(), log.messages[0].sender.as_str()), (1, "reasoning"));
        assert_eq!(parsed.problems.len(), 1, "one line a file: {:?}", parsed.problems);
    }

    #[test]
    fn digest_depends_on_content_only() {
        let read = |text: &str| {
            let file = SourceFile::in_memory("/claude/s.jsonl", text);
            AgentSessionImporter.parse(&file).unwrap().drafts[0].digest.clone()
        };
        assert_eq!(read(CLAUDE), read(&CLAUDE.replace("{broken}\n", "")));
        assert_ne!(read(CLAUDE), read(&CLAUDE.replace("cat beds.txt", "ls")));
    }
}
