//! aider: one Markdown file for each folder, with all sessions one after the other. The person's lines
//! begin with `#### `, the output of tools with `> `, and the rest is the model.

use vademecum_model::Timestamp;

use super::format::{AgentFormat, has};
use crate::{Role, Session, SessionFile, session_builder::SessionBuilder};

pub(super) const FORMAT: AgentFormat = AgentFormat {
    name: "aider",
    label: "aider",
    detect: |path, head| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = name.ends_with(".aider.chat.history.md");
        (is_named || name.ends_with(".md") && has(head.get(..80).unwrap_or(head), START)).into()
    },
    parse: |file| Ok(parse(file)),
    follow: None,
};

/// Beginning of the first line of a session.
const START: &str = "# aider chat started at ";
const FENCES: [&str; 2] = ["```", "~~~"];

/// The lines of one author that follow each other.
#[derive(Default)]
struct Block {
    author: Option<Author>,
    lines: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Author {
    Person,
    Model,
    Tool,
}

fn parse(file: &SessionFile<'_>) -> Vec<Session> {
    let text = String::from_utf8_lossy(file.bytes);
    let mut sessions = Vec::new();
    let mut builder: Option<SessionBuilder> = None;
    let mut block = Block::default();
    let mut is_fenced = false;
    for line in text.lines() {
        if let Some(start) = line.strip_prefix(START) {
            if let Some(mut builder) = builder.take() {
                block.finish(&mut builder);
                sessions.extend(builder.finish());
            }
            block = Block::default();
            is_fenced = false;
            builder = Some(new_session(file, start.trim()));
            continue;
        }
        let Some(builder) = &mut builder else { continue };
        let (author, said) = match line.strip_prefix("#### ").or((line == "####").then_some("")) {
            Some(said) if !is_fenced => (Author::Person, said),
            _ => match line.strip_prefix("> ").or((line == ">").then_some("")) {
                Some(said) if !is_fenced => (Author::Tool, said),
                _ => (Author::Model, line),
            },
        };
        if author == Author::Model && FENCES.iter().any(|fence| line.starts_with(fence)) {
            is_fenced = !is_fenced;
        }
        // Blank lines separate blocks of all authors.
        let is_blank = author == Author::Model && line.trim().is_empty();
        if block.author != Some(author) && !is_blank {
            block.finish(builder);
            block.author = Some(author);
        }
        block.lines.push(said.to_owned());
    }
    if let Some(mut builder) = builder {
        block.finish(&mut builder);
        sessions.extend(builder.finish());
    }
    sessions
}

/// Starts a session. It has no identifier, so that its file and time are one.
fn new_session(file: &SessionFile<'_>, start: &str) -> SessionBuilder {
    let mut builder = SessionBuilder::default();
    let session = &mut builder.session;
    session.id = format!("{}#{start}", file.path.display());
    session.started = Timestamp::parse(start).ok();
    session.ended = session.started;
    // A history in the home folder or outside of a project has no working folder.
    let is_project = file.path.file_name().is_some_and(|name| name == ".aider.chat.history.md");
    let folder = file.path.parent().filter(|_| is_project);
    session.folder = folder.map(|folder| folder.display().to_string());
    builder
}

impl Block {
    fn finish(&mut self, builder: &mut SessionBuilder) {
        let said = std::mem::take(&mut self.lines).join("\n");
        match self.author.take() {
            Some(Author::Person) => builder.say(Role::User, None, None, &said),
            Some(Author::Model) => builder.say(Role::Assistant, None, None, &said),
            Some(Author::Tool) => builder.output(None, &said),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn sessions_are_split_and_fences_hide_markers() {
        let text = "# aider chat started at 2026-07-17 09:00:00\n\n> Model: x\n\n#### fix it\n#### now\n\n\
            Look:\n\n```md\n#### no prompt\n> no output\n```\nDone.\n\n\
            # aider chat started at 2026-07-18 09:00:00\n\n> empty launch\n\
            # aider chat started at 2026-07-19 09:00:00\n#### again\n";
        let none = |_: &Path| None;
        let path = Path::new("/home/ada/garden/.aider.chat.history.md");
        let file =
            SessionFile { path, bytes: text.as_bytes(), modified: None, read_neighbour: &none };
        let sessions = parse(&file);
        let said: Vec<Vec<&str>> = sessions
            .iter()
            .map(|session| session.turns.iter().map(|turn| turn.text.as_str()).collect())
            .collect();
        let answer = "Look:\n\n```md\n#### no prompt\n> no output\n```\nDone.";
        assert_eq!(said, [vec!["fix it\nnow", answer], vec!["again"]]);
        assert_eq!(sessions[0].project(), Some("garden"));
        assert_eq!(sessions[0].asides[0].text, "Model: x");
    }
}
