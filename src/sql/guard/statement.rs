//! A statement, and what is known of it.

use std::fmt;

use crate::sql::{Engine, SqlError};

/// What kind of answer a query gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows, of what can stand in brackets as a part of another query.
    Rows,
    /// A plan.
    Explain,
    /// What the server says of itself.
    Show,
}

/// A query that only reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOnlyQuery {
    engine: Engine,
    text: String,
    kind: Kind,
    functions: Vec<FunctionName>,
    attributes: Vec<String>,
}

/// A function as it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionName {
    /// The schema or database, if it is named.
    pub schema: Option<String>,
    /// The function.
    pub name: String,
}

impl fmt::Display for FunctionName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(out, "{schema}.{}", self.name),
            None => out.write_str(&self.name),
        }
    }
}

impl ReadOnlyQuery {
    /// The engine it is written for.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The statement, without a semicolon at its end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What kind of answer it gives.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The functions that it calls, as they are written.
    pub fn functions(&self) -> &[FunctionName] {
        &self.functions
    }

    /// Names that stand behind a dot.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    /// A query that nobody looked at, for tests of what holds without the guard.
    #[cfg(test)]
    pub(in crate::sql) fn unguarded(engine: Engine, text: &str, kind: Kind) -> Self {
        Self { engine, text: text.to_owned(), kind, functions: Vec::new(), attributes: Vec::new() }
    }
}

/// One statement, which may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStatement {
    engine: Engine,
    text: String,
}

impl WriteStatement {
    /// The engine it is written for.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The statement, without a semicolon at its end.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads a query.
pub fn read(engine: Engine, text: &str) -> Result<ReadOnlyQuery, SqlError> {
    let text = text.trim().trim_end_matches(';').to_owned();
    let first = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let kind = match first.as_str() {
        "explain" => Kind::Explain,
        "show" | "describe" | "pragma" => Kind::Show,
        _ => Kind::Rows,
    };
    let functions = text
        .match_indices('(')
        .map(|(at, _)| {
            let before =
                text[..at].rsplit(|it: char| !it.is_alphanumeric() && it != '_' && it != '.');
            before.into_iter().next().unwrap_or_default().to_owned()
        })
        .filter(|name| !name.is_empty())
        .map(|name| match name.split_once('.') {
            Some((schema, name)) => {
                FunctionName { schema: Some(schema.to_owned()), name: name.to_owned() }
            }
            None => FunctionName { schema: None, name },
        })
        .collect();
    let attributes = text
        .split('.')
        .skip(1)
        .map(|rest| rest.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect());
    let attributes = attributes.collect();
    Ok(ReadOnlyQuery { engine, text, kind, functions, attributes })
}

/// Reads a statement that may write.
pub fn one_statement(engine: Engine, text: &str) -> Result<WriteStatement, SqlError> {
    Ok(WriteStatement { engine, text: text.trim().trim_end_matches(';').to_owned() })
}

/// Whether a function may be called although `PostgreSQL` counts it as volatile.
pub fn may_be_volatile(schema: &str, name: &str) -> bool {
    let known = ["random", "clock_timestamp", "timeofday", "gen_random_uuid", "pg_database_size"];
    !schema.is_empty() && known.contains(&name)
}
