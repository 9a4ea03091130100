//! The folders in which programs keep their sessions.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::agents::find_agent;

/// Maximum depth below a folder of sessions.
const MAX_DEPTH: usize = 12;
/// Maximum number of files in all folders of sessions.
const MAX_FILES: usize = 200_000;
/// Number of bytes by which a file is recognised.
const HEAD_BYTES: u64 = 8 * 1_024;
/// Settings folders of editors made from VS Code, below the folder of settings of the system.
const EDITORS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/// The folders of a person below which programs keep their sessions.
#[derive(Clone, Debug, Default)]
pub struct HomeFolders {
    /// Home folder.
    pub home: PathBuf,
    /// Folder of settings of the system, such as `~/.config`.
    pub settings: PathBuf,
    /// Folder of data of the person, such as `~/.local/share`.
    pub data: PathBuf,
    /// Folders that environment variables name instead of the usual ones, by the name of the program.
    pub moved: Vec<(&'static str, PathBuf)>,
}

/// A file of sessions that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentPlace {
    /// Name of the program for messages.
    pub label: &'static str,
    /// Folder of sessions in which the file was found.
    pub root: PathBuf,
    /// Path of the file.
    pub path: PathBuf,
}

/// A usual place: the folders of the person that it is below, and the program that may move it.
fn usual_folders(folders: &HomeFolders) -> Vec<PathBuf> {
    let HomeFolders { home, settings, data, moved } = folders;
    let moved = |program: &str, usual: PathBuf| {
        moved.iter().find(|(name, _)| *name == program).map_or(usual, |(_, path)| path.clone())
    };
    let claude = moved("claude-code", home.join(".claude"));
    let codex = moved("codex", home.join(".codex"));
    let gemini = moved("gemini-cli", home.clone()).join(".gemini");
    let mut found = vec![
        claude.join("projects"),
        codex.join("sessions"),
        codex.join("archived_sessions"),
        gemini.join("tmp"),
        gemini.join("antigravity"),
        gemini.join("antigravity-cli"),
        moved("cursor-cli", home.join(".cursor")).join("projects"),
        home.join(".copilot/session-state"),
        moved("opencode", data.join("opencode")),
        moved("goose", data.join("goose")).join("sessions"),
        moved("cline", home.join(".cline/data/sessions")),
        home.join(".qwen/projects"),
        moved("kimi", home.join(".kimi-code")).join("sessions"),
        home.join(".kimi/sessions"),
        data.join("amp/threads"),
        data.join("zed/threads"),
        settings.join("Zed/threads"),
        home.join(".aider.chat.history.md"),
    ];
    for editor in EDITORS {
        let user = settings.join(editor).join("User");
        found.push(user.join("workspaceStorage"));
        let shared = user.join("globalStorage");
        found.push(shared.join("emptyWindowChatSessions"));
        found.push(shared.join("transferredChatSessions"));
        found.push(shared.join("saoudrizwan.claude-dev/tasks"));
        found.push(shared.join("rooveterinaryinc.roo-cline/tasks"));
        if editor == "Cursor" {
            found.push(shared.join("state.vscdb"));
        }
    }
    found
}

/// Finds the files of sessions in the usual places. A session comes before those of its subagents.
/// Links are not followed. Of a rollout that is there plain and packed, and of a session in an older
/// and the present form, one counts.
pub fn find_session_files(folders: &HomeFolders) -> Vec<AgentPlace> {
    let mut found = BTreeSet::new();
    for root in usual_folders(folders) {
        // Links above the folder are those of the person.
        let Ok(root) = root.canonicalize() else { continue };
        if root.is_file() {
            let folder = root.parent().unwrap_or(&root).to_owned();
            add_file(&folder, root, &mut found);
        } else {
            add_folder(&root, &root, 0, &mut found);
        }
    }
    let paths: BTreeSet<PathBuf> = found.iter().map(|place| place.path.clone()).collect();
    let mut found: Vec<AgentPlace> =
        found.into_iter().filter(|place| !is_older_form(&place.path, &paths)).collect();
    // Sessions of subagents are below the session that started them.
    found.sort_by_key(|place| place.path.components().count());
    found
}

/// Returns the place of a file below a usual place, if it is of a session; `None` for another file, and
/// for an older form of one.
pub fn find_session_file(root: &Path, path: &Path) -> Option<AgentPlace> {
    if !path.symlink_metadata().is_ok_and(|about| about.is_file()) {
        return None;
    }
    let mut found = BTreeSet::new();
    let folder = if root == path { path.parent()? } else { root };
    add_file(folder, path.to_owned(), &mut found);
    let newer = ["", "jsonl"].map(|extension| path.with_extension(extension));
    let present = newer.into_iter().filter(|path| path.is_file()).collect();
    found.into_iter().find(|place| !is_older_form(&place.path, &present))
}

/// Returns whether there is a plain form of a packed file, or a log instead of a document.
fn is_older_form(path: &Path, all: &BTreeSet<PathBuf>) -> bool {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match extension {
        "zst" => all.contains(&path.with_extension("")),
        "json" => all.contains(&path.with_extension("jsonl")),
        _ => false,
    }
}

fn add_folder(root: &Path, folder: &Path, depth: usize, found: &mut BTreeSet<AgentPlace>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < MAX_DEPTH {
            add_folder(root, &entry.path(), depth + 1, found);
        } else if kind.is_file() && found.len() < MAX_FILES {
            add_file(root, entry.path(), found);
        }
    }
}

fn add_file(root: &Path, path: PathBuf, found: &mut BTreeSet<AgentPlace>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fits =
        [".jsonl", ".json", ".zst", ".db", ".vscdb", ".md"].iter().any(|end| name.ends_with(end));
    if !fits {
        return;
    }
    let mut head = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    if let (Ok(_), Some(agent)) = (read, find_agent(&path, &head)) {
        found.insert(AgentPlace { label: agent.label, root: root.to_owned(), path });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CLAUDE: &str = r#"{"type":"user","timestamp":"2026-01-01T00:00:00Z","message":{"content":"Hi"},"sessionId":"s"}"#;
    const CODEX: &str = r#"{"type":"session_meta","payload":{"id":"c"}}"#;

    #[test]
    fn sessions_are_found_in_usual_and_moved_places() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".claude/projects/-g/s.jsonl", CLAUDE);
        write(".claude/projects/-g/s/subagents/agent-1.jsonl", CLAUDE);
        write(".claude/history.jsonl", CLAUDE);
        write(".claude/projects/-g/memory/note.md", "Note");
        write("moved/sessions/2026/01/rollout-1.jsonl", CODEX);
        write("moved/sessions/2026/01/rollout-1.jsonl.zst", "packed");
        write("moved/sessions/2026/01/rollout-2.jsonl.zst", "packed");
        #[cfg(unix)]
        std::os::unix::fs::symlink(
            home.join(".claude/history.jsonl"),
            home.join(".claude/projects/-g/l.jsonl"),
        )
        .unwrap();
        let folders = HomeFolders {
            home: home.clone(),
            settings: home.join(".config"),
            data: home.join(".local/share"),
            moved: vec![("codex", home.join("moved"))],
        };
        let found: Vec<String> = find_session_files(&folders)
            .iter()
            .map(|place| {
                let path = place.path.strip_prefix(&home).unwrap().display();
                format!("{}: {path}", place.label)
            })
            .collect();
        let expected = [
            "Claude Code: .claude/projects/-g/s.jsonl",
            "Codex: moved/sessions/2026/01/rollout-1.jsonl",
            "Codex: moved/sessions/2026/01/rollout-2.jsonl.zst",
            "Claude Code: .claude/projects/-g/s/subagents/agent-1.jsonl",
        ];
        assert_eq!(found, expected);
    }
}
