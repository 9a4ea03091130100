//! The list of programs, and the choice of the one that wrote a file.

use std::path::{Path, PathBuf};

use super::{
    aider, amp, antigravity, claude_code, cline, codex, copilot, cursor_cli, cursor_ide,
    format::{AgentFormat, Match},
    gemini, goose, kimi, opencode, qwen, vscode, zed,
};
use crate::session_file::beside;

/// All programs. Of two that fit, the first reads the file.
pub static AGENTS: &[AgentFormat] = &[
    vscode::FORMAT,
    codex::FORMAT,
    copilot::FORMAT,
    gemini::FORMAT,
    kimi::FORMAT,
    qwen::FORMAT,
    antigravity::FORMAT,
    cursor_cli::FORMAT,
    goose::FORMAT,
    claude_code::FORMAT,
    cline::ROO,
    cline::CLINE,
    amp::FORMAT,
    aider::FORMAT,
    opencode::FORMAT,
    cursor_ide::FORMAT,
    goose::DATABASE,
    zed::FORMAT,
];

/// Returns the program that wrote a file, by its path and its first 8 KiB; `None` if none did.
pub fn find_agent(path: &Path, head: &[u8]) -> Option<&'static AgentFormat> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    AGENTS.iter().find(|agent| (agent.detect)(path, head) == Match::Yes)
}

/// Returns the paths of the files beside a file that the programs whose files have such a name may need.
/// They follow from the path alone.
pub fn session_neighbours(path: &Path) -> Vec<PathBuf> {
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, name) = (text(path.file_stem()), text(path.file_name()));
    let place = format!("{}/{name}", text(path.parent().and_then(Path::file_name)));
    let fitting = NEIGHBOURS.iter().filter(|(_, fits)| fits(&place));
    let relative = fitting.map(|(pattern, _)| pattern.replace('*', &stem));
    relative.filter_map(|relative| beside(path, &relative)).collect()
}

/// The path of a file beside a session, and whether a session with a folder and name has it.
type Neighbour = (&'static str, fn(&str) -> bool);

/// Files beside a session, relative to its folder, by the folder and the name of the session. `*` is its
/// name without the extension.
const NEIGHBOURS: &[Neighbour] = &[
    // Claude Code: the description of a subagent.
    ("*.meta.json", |place| place.contains("/agent-")),
    // Gemini CLI: the folder of the project.
    ("../.project_root", |place| place.starts_with("chats/")),
    // Copilot CLI: title and branch.
    ("workspace.yaml", |place| place.ends_with("/events.jsonl")),
    // Kimi: title and folder.
    ("../../state.json", |place| place.ends_with("/wire.jsonl")),
    // Cline, Roo Code: title, time and folder.
    ("../../state/taskHistory.json", |place| place.ends_with("/api_conversation_history.json")),
    ("history_item.json", |place| place.ends_with("/api_conversation_history.json")),
    // VS Code, Cursor: the folder of the project.
    ("../workspace.json", |place| place.contains("hatSessions/")),
    ("workspace.json", |place| place.ends_with("/state.vscdb")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AsideKind, Session, SessionFile};

    /// A file of each program: its seed, its path, and the agent.
    const FILES: [(&str, &str, &str); 19] = [
        ("claude_code.jsonl", "/p/a.jsonl", "claude-code"),
        ("codex.jsonl", "/p/a.jsonl", "codex"),
        ("gemini_cli.jsonl", "/p/a.jsonl", "gemini-cli"),
        ("gemini_cli.json", "/p/a.json", "gemini-cli"),
        ("copilot_cli.jsonl", "/p/a.jsonl", "copilot-cli"),
        ("cursor_cli.jsonl", "/p/agent-transcripts/a.jsonl", "cursor-cli"),
        ("vscode_chat.json", "/p/chatSessions/a.json", "vscode-chat"),
        ("vscode_chat.jsonl", "/p/chatSessions/a.jsonl", "vscode-chat"),
        ("cline.json", "/p/tasks/1/api_conversation_history.json", "cline"),
        ("cline.json", "/p/rooveterinaryinc.roo-cline/1/api_conversation_history.json", "roo"),
        ("amp.json", "/p/T-a.json", "amp"),
        ("goose.jsonl", "/p/a.jsonl", "goose"),
        ("qwen.jsonl", "/p/a.jsonl", "qwen"),
        ("kimi.jsonl", "/p/s/agents/main/wire.jsonl", "kimi"),
        ("antigravity.jsonl", "/p/transcript.jsonl", "antigravity"),
        ("aider.md", "/home/ada/garden/.aider.chat.history.md", "aider"),
        ("opencode.db", "/p/opencode.db", "opencode"),
        ("cursor.db", "/p/state.vscdb", "cursor-ide"),
        ("zed.db", "/p/threads.db", "zed"),
    ];

    fn read(seed: &str, path: &str) -> (&'static str, Vec<Session>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds/sessions");
        let bytes = std::fs::read(folder.join(seed)).unwrap();
        let path = Path::new(path);
        let agent = find_agent(path, &bytes[..bytes.len().min(8_192)]).expect(seed);
        let none = |_: &Path| None;
        let file = SessionFile { path, bytes: &bytes, modified: None, read_neighbour: &none };
        (agent.name, (agent.parse)(&file).unwrap())
    }

    #[test]
    fn conversation_of_every_program_is_read() {
        for (seed, path, agent) in FILES {
            let (found, sessions) = read(seed, path);
            assert_eq!((found, sessions.len()), (agent, 1), "{seed}");
            let session = &sessions[0];
            let said: Vec<_> =
                session.turns.iter().map(|it| (it.role.as_str(), it.text.as_str())).collect();
            let expected = [("user", "Which bed has the tomatoes?"), ("assistant", "Bed 7.")];
            assert_eq!(said, expected, "{seed}");
            assert_eq!(session.unread, 0, "{seed}");
            let has_title = ["Beds", "Which bed has the tomatoes?"]
                .contains(&session.shown_title().unwrap().as_str());
            assert!(has_title, "{seed}");
        }
    }

    #[test]
    fn actions_and_reasoning_are_read_where_stored() {
        for (seed, path, agent) in FILES {
            if ["antigravity", "aider"].contains(&agent) {
                continue;
            }
            let (_, sessions) = read(seed, path);
            let turns = &sessions[0].turns;
            let all: Vec<_> = turns.iter().flat_map(|it| it.commands.iter()).collect();
            assert_eq!(all, ["cat beds.txt"], "{seed}");
            let files: Vec<_> = turns.iter().flat_map(|it| it.files.iter()).collect();
            if agent != "cursor-ide" {
                assert!(files.len() == 1 && files[0].ends_with("plan.md"), "{seed}: {files:?}");
            }
            if agent != "cursor-cli" {
                let thoughts: Vec<_> = sessions[0]
                    .asides
                    .iter()
                    .filter(|aside| aside.kind == AsideKind::Reasoning)
                    .collect();
                assert_eq!(thoughts.len(), 1, "{seed}");
                assert!(thoughts[0].text.ends_with("I look."), "{seed}");
            }
        }
    }

    #[test]
    fn other_json_lines_are_no_sessions() {
        for text in [
            r#"{"role":"user","content":"Hello."}"#,
            r#"{"prompt":"Hello.","completion":"Hi."}"#,
            r#"{"name":"Orla","is_user":false,"mes":"Hello."}"#,
            "[]",
            "# Bread\n\n#### Knead\n",
        ] {
            for path in ["/chats/a.jsonl", "/a.json", "/a.md", "/sessions/a.jsonl"] {
                let found = find_agent(Path::new(path), text.as_bytes());
                assert!(found.is_none(), "{path}: {text}");
            }
        }
    }
}
