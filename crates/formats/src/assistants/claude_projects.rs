//! Projects and memories of Claude's export: `projects.json`, `memories.json`, and newer ones with a
//! file for each.
//!
//! A project is a note with its instructions, and each of its documents a note that links to it.

use serde_json::Value;
use vademecum_model::{NoteDraft, SourceName};

use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{id_at, list_at, parse_entry, split_entries, text_at},
    },
};

/// Projects and memories of Claude.
#[derive(Debug)]
pub(crate) struct ClaudeProjects;

impl Format for ClaudeProjects {
    fn id(&self) -> &'static str {
        "claude_projects"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "projects and memories of Claude (projects.json, memories.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["prompt_template", "name", "uuid"])
            || sample.is_json_with(&["conversations_memory"])
            || sample.is_json_with(&["project_memories"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        for (number, json) in (1..).zip(split_entries(&text)?) {
            match parse_entry::<Value>(json.get()) {
                Ok(entry)
                    if entry.get("docs").is_some() || entry.get("prompt_template").is_some() =>
                {
                    add_project(&mut parsed, &entry);
                }
                Ok(entry) => add_memories(&mut parsed, &entry),
                Err(reason) => parsed.add_problem(format!("entry {number}"), reason),
            }
        }
        parsed.or_empty("it has neither projects nor memories")
    }
}

fn add_project(parsed: &mut ParsedFormat, project: &Value) {
    let (id, name) = (id_at(project, "/uuid"), text_at(project, "/name"));
    let documents = list_at(project, "/docs");
    let mut parts = vec![text_at(project, "/description").trim().to_owned()];
    let instructions = text_at(project, "/prompt_template").trim();
    if !instructions.is_empty() {
        parts.push(format!("## Instructions\n\n{instructions}"));
    }
    if !documents.is_empty() {
        let names = documents.iter().map(|it| format!("- [[{}]]", text_at(it, "/filename")));
        parts.push(format!("## Documents\n\n{}", names.collect::<Vec<_>>().join("\n")));
    }
    parts.retain(|part| !part.is_empty());
    let time = |value: &Value, field: &str| datetime::parse_text(text_at(value, field));
    let note = NoteDraft {
        title: name.to_owned(),
        content: parts.join("\n\n"),
        tags: vec!["project".to_owned()],
        created_at: time(project, "/created_at"),
        modified_at: time(project, "/updated_at"),
        ..NoteDraft::default()
    };
    parsed.add_note(format!("claude-project:{id}"), note, "Project");
    for (number, document) in (1..).zip(documents) {
        let own = id_at(document, "/uuid");
        let own = if own.is_empty() { format!("{id}:{number}") } else { own };
        let content = text_at(document, "/content").trim();
        let note = NoteDraft {
            title: text_at(document, "/filename").to_owned(),
            content: format!("{content}\n\nProject: [[{name}]]").trim().to_owned(),
            folders: vec![name.to_owned()],
            created_at: time(document, "/created_at"),
            ..NoteDraft::default()
        };
        parsed.add_note(format!("claude-document:{own}"), note, name);
    }
}

/// Adds what Claude remembers of a person, and of each project.
fn add_memories(parsed: &mut ParsedFormat, memories: &Value) {
    let account = id_at(memories, "/account_uuid");
    let of_projects = memories.get("project_memories").and_then(Value::as_object);
    let of_projects = of_projects.into_iter().flatten().map(|(project, text)| {
        (format!("claude-memory:project:{project}"), "Memory of a project of Claude", text)
    });
    let own = memories
        .get("conversations_memory")
        .map(|text| (format!("claude-memory:{account}"), "Memory of Claude", text));
    for (origin, title, text) in own.into_iter().chain(of_projects) {
        let Some(text) = text.as_str().filter(|text| !text.trim().is_empty()) else { continue };
        let note = NoteDraft {
            title: title.to_owned(),
            content: text.trim().to_owned(),
            tags: vec!["memory".to_owned()],
            ..NoteDraft::default()
        };
        parsed.add_note(origin, note, title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    const PROJECTS: &str = r#"[{"uuid": "p", "name": "Garden", "description": "Beds",
        "prompt_template": "Be brief.", "created_at": "2026-01-05T10:00:00Z",
        "docs": [{"uuid": "d", "filename": "beds.md", "content": "bed 7"}]}]"#;

    #[test]
    fn project_and_documents_link_to_each_other() {
        assert!(detects(&ClaudeProjects, "/projects.json", PROJECTS));
        let parsed = parse(&ClaudeProjects, "/projects.json", PROJECTS);
        let origins: Vec<_> = parsed.drafts.iter().map(|it| it.origin.as_str()).collect();
        assert_eq!(origins, ["claude-project:p", "claude-document:d"]);
        let found = notes(&parsed);
        assert_eq!(
            found[0].content,
            "Beds\n\n## Instructions\n\nBe brief.\n\n## Documents\n\n- [[beds.md]]"
        );
        assert_eq!(found[1].content, "bed 7\n\nProject: [[Garden]]");
        assert_eq!((found[0].title.as_str(), found[1].title.as_str()), ("Garden", "beds.md"));
    }

    #[test]
    fn memories_are_notes() {
        let text = r#"[{"conversations_memory": "Grows rye.", "account_uuid": "a",
            "project_memories": {"p": "The pump leaks.", "q": 5}}]"#;
        assert!(detects(&ClaudeProjects, "/memories.json", text));
        let parsed = parse(&ClaudeProjects, "/memories.json", text);
        let origins: Vec<_> = parsed.drafts.iter().map(|it| it.origin.as_str()).collect();
        assert_eq!(origins, ["claude-memory:a", "claude-memory:project:p"]);
        assert_eq!(notes(&parsed)[1].content, "The pump leaks.");
        assert!(try_parse(&ClaudeProjects, "/memories.json", "[{}]").is_err());
    }
}
