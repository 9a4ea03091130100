//! A session: one conversation of a person with an agent.

use serde::{Deserialize, Serialize};
use vademecum_model::Timestamp;

/// A conversation of a person with an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Identifier that the program gives it.
    pub id: String,
    /// Identifier of the session that started this one as a subagent.
    pub parent: Option<String>,
    /// Title that the program or the person gave it.
    pub title: Option<String>,
    /// Working folder.
    pub folder: Option<String>,
    /// Address of the git remote.
    pub remote: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// First model that answered.
    pub model: Option<String>,
    /// Version of the program.
    pub version: Option<String>,
    /// Start, if it is not the time of the first turn.
    pub started: Option<Timestamp>,
    /// End, if it is not the time of the last turn.
    pub ended: Option<Timestamp>,
    /// What the person and the model said, in order.
    pub turns: Vec<Turn>,
    /// Texts that are not part of the conversation, in order.
    pub asides: Vec<Aside>,
    /// Lines or rows that could not be read.
    pub unread: usize,
    /// Number of turns before `turns` that an earlier reading returned.
    pub earlier_turns: usize,
    /// Number of asides before `asides` that an earlier reading returned.
    pub earlier_asides: usize,
    /// Beginning of the person's first message, if an earlier reading returned it.
    pub opening: Option<String>,
}

/// One message of the person or of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// Identifier within the session; its position if the program gives none.
    pub id: String,
    /// Whether `id` is an identifier of the program, which copies of the session repeat.
    pub is_named: bool,
    /// Author.
    pub role: Role,
    /// Time, if the program stores one.
    pub at: Option<Timestamp>,
    /// Text without surrounding white space.
    pub text: String,
    /// Model that wrote it.
    pub model: Option<String>,
    /// Shell commands that were run in or after this message, before the next one.
    pub commands: Vec<String>,
    /// Files that tools read or wrote in or after this message, before the next one; once each.
    pub files: Vec<String>,
}

/// Author of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The person.
    #[default]
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the name of the role as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Text that is part of a session, but not of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aside {
    /// Kind of the text.
    pub kind: AsideKind,
    /// Time, if the program stores one.
    pub at: Option<Timestamp>,
    /// Text without surrounding white space; long output is shortened.
    pub text: String,
}

/// Kind of an aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AsideKind {
    /// Reasoning of the model.
    Reasoning,
    /// Output of a tool.
    ToolOutput,
}

impl AsideKind {
    /// Returns the name under which it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::ToolOutput => "tool output",
        }
    }
}

impl Session {
    /// Returns the title: that of the program, else the beginning of the person's first message.
    pub fn shown_title(&self) -> Option<String> {
        let given = self.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        if let Some(title) = given {
            return Some(title.to_owned());
        }
        self.opening.clone().or_else(|| self.opening_line())
    }

    /// Returns the beginning of the person's first message among `turns`.
    pub(crate) fn opening_line(&self) -> Option<String> {
        const MAX_CHARS: usize = 60;
        let first = self.turns.iter().find(|turn| turn.role == Role::User)?;
        let line = first.text.lines().find(|line| !line.trim().is_empty())?;
        Some(line.trim().chars().take(MAX_CHARS).collect())
    }

    /// Returns the name of the project: the last part of the working folder.
    pub fn project(&self) -> Option<&str> {
        let folder = self.folder.as_deref()?;
        folder.rsplit(['/', '\\']).find(|part| !part.is_empty())
    }
}
