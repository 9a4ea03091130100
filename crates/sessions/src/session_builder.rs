//! Building of a session, event by event.

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

/// A session that is being read.
#[derive(Debug, Default)]
pub(crate) struct SessionBuilder {
    pub(crate) session: Session,
    /// Actions before the first turn.
    early: ToolActions,
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
        if text.is_empty() || self.session.turns.len() >= MAX_TURNS {
            return;
        }
        let count = self.session.turns.len();
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
        if !text.is_empty() && self.session.asides.len() < MAX_ASIDES {
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
        let known = |path: &String, session: &Session, early: &[String]| {
            early.contains(path) || session.turns.iter().any(|turn| turn.files.contains(path))
        };
        let new: Vec<String> = actions
            .files
            .into_iter()
            .filter(|path| !known(path, &self.session, &self.early.files))
            .collect();
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
