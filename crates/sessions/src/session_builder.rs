//! Building of a session, event by event.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hasher as _},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vademecum_model::Timestamp;

use crate::{
    Aside, AsideKind, Role, Session, Turn,
    text::shorten,
    tool_call::{ToolActions, read_tool_call},
};

/// Maximum number of turns of a session; later ones are left out.
const MAX_TURNS: usize = 100_000;
/// Maximum number of asides of a session; later ones are left out.
const MAX_ASIDES: usize = 200_000;
/// Maximum number of commands of a turn, and of files.
const MAX_ACTIONS: usize = 1_000;

/// Maximum number of files that are remembered, so that a later turn does not name them again.
const MAX_KNOWN_FILES: usize = 1_000;

/// A session that is being read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SessionBuilder {
    pub(crate) session: Session,
    /// Actions before the first turn.
    early: ToolActions,
    /// Hashes of the files that were named last.
    known_files: VecDeque<u64>,
}

impl SessionBuilder {
    /// Adds a message. Text with the identifier of the last message of the same author continues it
    /// on a new line. Blank text is ignored.
    pub(crate) fn say(&mut self, role: Role, id: Option<&str>, at: Option<Timestamp>, text: &str) {
        self.say_as(role, id, at, text, None);
    }

    /// Adds a message of a model, like [`Self::say`].
    pub(crate) fn say_as(
        &mut self,
        role: Role,
        id: Option<&str>,
        at: Option<Timestamp>,
        text: &str,
        model: Option<&str>,
    ) {
        let text = text.trim();
        let id = id.filter(|id| !id.is_empty());
        let count = self.session.earlier_turns + self.session.turns.len();
        if text.is_empty() || count >= MAX_TURNS {
            return;
        }
        if let (Some(id), Some(last)) = (id, self.session.turns.last_mut())
            && last.is_named
            && last.id == id
            && last.role == role
        {
            last.text.push('\n');
            last.text.push_str(text);
            return;
        }
        let model = model.filter(|it| role == Role::Assistant && !it.is_empty());
        if self.session.model.is_none() {
            self.session.model = model.map(str::to_owned);
        }
        let early = std::mem::take(&mut self.early);
        self.session.turns.push(Turn {
            id: id.map_or_else(|| count.to_string(), str::to_owned),
            is_named: id.is_some(),
            role,
            at,
            text: text.to_owned(),
            model: model.map(str::to_owned),
            commands: early.commands,
            files: early.files,
        });
    }

    /// Adds reasoning of the model.
    pub(crate) fn think(&mut self, at: Option<Timestamp>, text: &str) {
        self.add_aside(AsideKind::Reasoning, at, text.trim().to_owned());
    }

    /// Adds the output of a tool, shortened.
    pub(crate) fn output(&mut self, at: Option<Timestamp>, text: &str) {
        self.add_aside(AsideKind::ToolOutput, at, shorten(text.trim()));
    }

    fn add_aside(&mut self, kind: AsideKind, at: Option<Timestamp>, text: String) {
        let count = self.session.earlier_asides + self.session.asides.len();
        if !text.is_empty() && count < MAX_ASIDES {
            self.session.asides.push(Aside { kind, at, text });
        }
    }

    /// Adds what a tool call did to the last message; before the first one, to that.
    pub(crate) fn call(&mut self, tool: &str, input: &Value) {
        self.act(read_tool_call(tool, input));
    }

    /// Adds a file that was read or written.
    pub(crate) fn touch(&mut self, path: &str) {
        self.act(ToolActions { files: vec![path.to_owned()], ..ToolActions::default() });
    }

    fn act(&mut self, actions: ToolActions) {
        let mut new = actions.files;
        new.retain(|path| self.is_new_file(path));
        let (commands, files) = match self.session.turns.last_mut() {
            Some(turn) => (&mut turn.commands, &mut turn.files),
            None => (&mut self.early.commands, &mut self.early.files),
        };
        for (list, added) in [(commands, actions.commands), (files, new)] {
            let room = MAX_ACTIONS.saturating_sub(list.len());
            for one in added.into_iter().take(room) {
                list.push(one);
            }
        }
    }

    /// Returns whether a file is none of those that were named last, and remembers it.
    fn is_new_file(&mut self, path: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        hasher.write(path.as_bytes());
        let hash = hasher.finish();
        if self.known_files.contains(&hash) {
            return false;
        }
        if self.known_files.len() >= MAX_KNOWN_FILES {
            self.known_files.pop_front();
        }
        self.known_files.push_back(hash);
        true
    }

    /// Returns what is needed to continue: the last turn and aside, and the number of the others.
    pub(crate) fn tail(&self) -> Self {
        let session = &self.session;
        let (turns, asides) = (&session.turns, &session.asides);
        let last = |count: usize| count.saturating_sub(1);
        let opening = session.opening.clone().or_else(|| session.opening_line());
        let session = Session {
            opening,
            started: session.started.or_else(|| turns.iter().find_map(|turn| turn.at)),
            earlier_turns: session.earlier_turns + last(turns.len()),
            earlier_asides: session.earlier_asides + last(asides.len()),
            turns: turns.last().cloned().into_iter().collect(),
            asides: asides.last().cloned().into_iter().collect(),
            id: session.id.clone(),
            parent: session.parent.clone(),
            title: session.title.clone(),
            folder: session.folder.clone(),
            remote: session.remote.clone(),
            branch: session.branch.clone(),
            model: session.model.clone(),
            version: session.version.clone(),
            ended: session.ended,
            unread: session.unread,
        };
        Self { session, early: self.early.clone(), known_files: self.known_files.clone() }
    }

    /// Returns the session; `None` if it has no messages.
    pub(crate) fn finish(mut self) -> Option<Session> {
        let session = &mut self.session;
        let first = session.turns.iter().find_map(|turn| turn.at);
        let last = session.turns.iter().rev().find_map(|turn| turn.at);
        session.started = session.started.or(first);
        session.ended = session.ended.or(last);
        (!session.turns.is_empty()).then_some(self.session)
    }
}
