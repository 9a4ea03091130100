//! Files in which people write instructions for coding agents, and agents their own memory: `CLAUDE.md`,
//! `AGENTS.md`, `GEMINI.md`, and the folder `memory` of a project of Claude Code.
//!
//! Such a file is a note with the tag `instructions` or `memory` and the tag of its project, whose name is
//! part of the title: there are many notes named `CLAUDE`.

use std::path::Path;

/// Names of the files, without the extension.
const FILE_STEMS: [&str; 4] = ["CLAUDE", "CLAUDE.local", "AGENTS", "GEMINI"];
/// Folders of programs, whose files are of the person and of no project.
const PROGRAM_FOLDERS: [&str; 3] = [".claude", ".codex", ".gemini"];

/// The place of a file of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentInstructions {
    tag: &'static str,
    /// Name of the project; `None` for those of the person.
    project: Option<String>,
}

impl AgentInstructions {
    /// Returns the place of a file; `None` if its path is none of an agent.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
        let folder = path.parent()?;
        let stem = path.file_stem()?.to_string_lossy();
        if FILE_STEMS.contains(&stem.as_ref()) {
            let own = name(folder);
            let of_project = own.filter(|it| !PROGRAM_FOLDERS.contains(&it.as_str()));
            return Some(Self { tag: "instructions", project: of_project });
        }
        let project = folder.parent()?;
        let is_memory =
            folder.ends_with("memory") && project.parent()?.ends_with(".claude/projects");
        // The name of the folder is the path of the project with other signs, which cannot be undone.
        is_memory.then(|| Self { tag: "memory", project: name(project) })
    }

    /// Returns the title of the note, with the project.
    pub(super) fn title(&self, title: &str) -> String {
        match &self.project {
            Some(project) if !title.contains(project.as_str()) => format!("{title} ({project})"),
            Some(_) | None => title.to_owned(),
        }
    }

    /// Returns the tags of the note.
    pub(super) fn tags(&self) -> impl Iterator<Item = String> + use<> {
        let project = self.project.as_ref().map(|project| format!("project/{project}"));
        [self.tag.to_owned()].into_iter().chain(project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_their_project() {
        let of = |path: &str| {
            let found = AgentInstructions::of(Path::new(path))?;
            Some((found.title("CLAUDE"), found.tags().collect::<Vec<_>>().join(" ")))
        };
        let expected = |title: &str, tags: &str| Some((title.to_owned(), tags.to_owned()));
        assert_eq!(
            of("/home/ada/garden/CLAUDE.md"),
            expected("CLAUDE (garden)", "instructions project/garden")
        );
        assert_eq!(of("/home/ada/.claude/CLAUDE.md"), expected("CLAUDE", "instructions"));
        assert_eq!(
            of("/home/ada/.claude/projects/-home-ada-garden/memory/beds.md"),
            expected("CLAUDE (-home-ada-garden)", "memory project/-home-ada-garden")
        );
        assert_eq!(of("/home/ada/memory/beds.md"), None);
        assert_eq!(of("/home/ada/garden/README.md"), None);
    }
}
