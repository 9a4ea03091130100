//! Statements and conditions that passed the guard.

use super::{QualifiedName, strings};
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
    pub(super) functions: Vec<QualifiedName>,
    pub(super) identifiers: Vec<QualifiedName>,
    pub(super) source_tables: Vec<QualifiedName>,
    pub(super) query_start: usize,
    pub(super) is_own: bool,
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
    pub fn functions(&self) -> &[QualifiedName] {
        &self.functions
    }

    /// Returns the query of the statement: the explained query of an EXPLAIN, or the whole
    /// statement.
    pub fn query_text(&self) -> &str {
        self.text.get(self.query_start..).unwrap_or(&self.text)
    }

    /// Returns true if a name of the statement, or an operator in it, may be this one. The case of
    /// letters does not count.
    pub fn mentions(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let is_operator = !name.is_empty() && !name.contains(char::is_alphanumeric);
        self.identifiers.iter().any(|it| it.name.to_lowercase() == name)
            || is_operator && self.text.contains(&name)
    }

    /// Returns true for a statement of this program, which reads the catalogs only. It need not be
    /// resolved, unless its names may mean something else.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Returns the query with a parameter in place of each string; `None` if it has no string. The
    /// numbers of the parameters follow those of the statement.
    pub fn query_without_strings(&self) -> Option<String> {
        strings::replace_strings(self.engine, self.query_text())
    }

    /// Returns all words and quoted names, without duplicates. They include every table and view
    /// that the statement names, and keywords.
    pub fn identifiers(&self) -> &[QualifiedName] {
        &self.identifiers
    }

    /// Returns the names in FROM clauses, without derived tables. They include names of WITH.
    pub fn source_tables(&self) -> &[QualifiedName] {
        &self.source_tables
    }

    /// Creates an unchecked query, for tests of the protection without the guard.
    #[cfg(test)]
    pub(crate) fn unguarded(engine: Engine, text: &str, kind: StatementKind) -> Self {
        Self {
            engine,
            text: text.to_owned(),
            kind,
            functions: Vec::new(),
            identifiers: Vec::new(),
            source_tables: Vec::new(),
            query_start: 0,
            is_own: false,
        }
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
