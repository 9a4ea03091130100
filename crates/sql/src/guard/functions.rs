//! Functions and attributes used by a statement.

use std::fmt;

use super::{
    function_policy,
    rejection::reject_at,
    token::{Token, TokenKind, symbol_at},
};
use crate::{Engine, SqlError};

/// Name as the engine reads it: without quotes, unquoted names in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QualifiedName {
    /// Schema or database, if qualified.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(out, "{schema}.{}", self.name),
            None => out.write_str(&self.name),
        }
    }
}

/// Words before a parenthesis that are never function names.
const NON_FUNCTION_KEYWORDS: &[&str] = &[
    "all",
    "and",
    "any",
    "array",
    "as",
    "between",
    "by",
    "case",
    "distinct",
    "else",
    "except",
    "exists",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "lateral",
    "limit",
    "not",
    "offset",
    "on",
    "or",
    "select",
    "some",
    "table",
    "then",
    "union",
    "using",
    "values",
    "when",
    "where",
    "with",
];

/// Returns the called functions, sorted, without duplicates. Rejects functions of the deny list.
pub(super) fn called_functions(
    engine: Engine,
    text: &str,
    tokens: &[Token],
) -> Result<Vec<QualifiedName>, SqlError> {
    let mut functions = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_name() || !symbol_at(tokens, at + 1, "(") {
            continue;
        }
        if let Some(why) =
            function_policy::rejection_reason(engine, &token.text, tokens.get(at + 2..))
        {
            let message = format!("the function `{}` {why}; leave it out", token.text);
            return Err(reject_at(text, token.offset, &message));
        }
        let function =
            QualifiedName { schema: qualifying_schema(tokens, at), name: token.text.clone() };
        let is_keyword = function.schema.is_none() && token.is_one_of(NON_FUNCTION_KEYWORDS);
        if !is_keyword {
            functions.push(function);
        }
    }
    functions.sort_unstable();
    functions.dedup();
    Ok(functions)
}

/// Returns all words and quoted names, sorted, without duplicates.
pub(super) fn identifiers(tokens: &[Token]) -> Vec<QualifiedName> {
    let names = tokens.iter().enumerate().filter(|(_, token)| token.is_name());
    let mut identifiers: Vec<QualifiedName> = names
        .map(|(at, token)| QualifiedName {
            schema: qualifying_schema(tokens, at),
            name: token.text.clone(),
        })
        .collect();
    identifiers.sort_unstable();
    identifiers.dedup();
    identifiers
}

fn qualifying_schema(tokens: &[Token], at: usize) -> Option<String> {
    let owner = at.checked_sub(2)?;
    let is_owned = symbol_at(tokens, at - 1, ".");
    tokens
        .get(owner)
        .filter(|schema| is_owned && matches!(schema.kind, TokenKind::Word | TokenKind::Name))
        .map(|schema| schema.text.clone())
}
