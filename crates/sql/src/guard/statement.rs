//! Statements and conditions that passed the guard.

use super::FunctionName;
use crate::Engine;

/// Kind of a read-only statement, which determines how it can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// Query that returns rows and can be used as a sub-select in FROM.
    Rows,
    /// EXPLAIN of a query; may run the query.
    Explain,
    /// Statement such as SHOW or PRAGMA, which cannot be used as a sub-select.
    Show,
}

/// Statement that the guard has checked to be read-only. It needs no further check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyQuery {
    pub(super) engine: Engine,
    pub(super) text: String,
    pub(super) kind: StatementKind,
    pub(super) functions: Vec<FunctionName>,
    pub(super) attributes: Vec<String>,
}

impl ReadOnlyQuery {
    /// Returns the engine that the statement was checked for.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Returns the statement, without comments and trailing semicolons.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the kind of statement.
    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// Returns all names followed by parentheses, without duplicates. They include every called
    /// function and some other names, such as types.
    pub fn functions(&self) -> &[FunctionName] {
        &self.functions
    }

    /// Returns all names after a dot, without duplicates. `PostgreSQL` reads `t.f` as `f(t)` if the
    /// table has no column `f` but a function of its row type exists.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    /// Creates an unchecked query, for tests of the protection without the guard.
    #[cfg(test)]
    pub(crate) fn unguarded(engine: Engine, text: &str, kind: StatementKind) -> Self {
        let (functions, attributes) = (Vec::new(), Vec::new());
        Self { engine, text: text.to_owned(), kind, functions, attributes }
    }
}

/// Condition that can be placed in parentheses after WHERE and depends only on the current row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub(super) engine: Engine,
    pub(super) text: String,
}

impl Condition {
    /// Returns the engine that the condition was checked for.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Returns the condition. Callers must put it in parentheses.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Single statement of any kind, for profiles that may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStatement {
    pub(super) engine: Engine,
    pub(super) text: String,
}

impl WriteStatement {
    /// Creates an unchecked statement, for tests of the protection without the guard.
    #[cfg(test)]
    pub(crate) fn unguarded(engine: Engine, text: &str) -> Self {
        Self { engine, text: text.to_owned() }
    }

    /// Returns the engine that the statement was checked for.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Returns the statement, without comments.
    pub fn text(&self) -> &str {
        &self.text
    }
}
