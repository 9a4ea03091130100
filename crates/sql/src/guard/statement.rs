//! What has passed the guard.

use super::FunctionName;
use crate::Engine;

/// How a statement that reads can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It gives rows and can stand in a FROM as a sub-select.
    Rows,
    /// It tells how a statement is run, and perhaps runs it.
    Explain,
    /// It tells of the server or of a table, and stands alone.
    Show,
}

/// A statement that only reads. Whoever holds one need not look at it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyQuery {
    pub(super) engine: Engine,
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) functions: Vec<FunctionName>,
    pub(super) attributes: Vec<String>,
}

impl ReadOnlyQuery {
    /// The engine whose language it is in.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The statement, without comments and without a semicolon at its end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How it can be run.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What it calls, each name once. Some are no functions but, for instance,
    /// types; all functions that are called with parentheses are among them.
    pub fn functions(&self) -> &[FunctionName] {
        &self.functions
    }

    /// Names that stand behind a dot, each once. `PostgreSQL` takes `t.f` for `f(t)` if
    /// the table has no such column and there is a function of a row of it.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    /// A query that nobody looked at, for tests of what holds without the guard.
    #[cfg(test)]
    pub(crate) fn unguarded(engine: Engine, text: &str, kind: Kind) -> Self {
        let (functions, attributes) = (Vec::new(), Vec::new());
        Self { engine, text: text.to_owned(), kind, functions, attributes }
    }
}

/// A condition that can stand in parentheses behind WHERE, and asks only about
/// the row at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub(super) engine: Engine,
    pub(super) text: String,
}

impl Condition {
    /// The engine whose language it is in.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The condition. It still has to be put in parentheses.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// One statement of any kind, for profiles that may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStatement {
    pub(super) engine: Engine,
    pub(super) text: String,
}

impl WriteStatement {
    /// A statement that nobody looked at, for tests of what holds without the guard.
    #[cfg(test)]
    pub(crate) fn unguarded(engine: Engine, text: &str) -> Self {
        Self { engine, text: text.to_owned() }
    }

    /// The engine whose language it is in.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The statement, without comments.
    pub fn text(&self) -> &str {
        &self.text
    }
}
