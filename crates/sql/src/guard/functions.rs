//! What a statement calls.

use std::fmt;

use super::{
    policy,
    refusal::refuse_at,
    token::{Kind, Token, symbol_at},
};
use crate::{Engine, SqlError};

/// The name of a function, as the engine reads it: without quotes, and in small
/// letters where there were none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// Words before an opening bracket that are never a function.
const KEYWORDS: &[&str] = &[
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

/// The functions, sorted, each once. Refuses those that do more than compute.
pub(super) fn called(
    engine: Engine,
    text: &str,
    tokens: &[Token],
) -> Result<Vec<FunctionName>, SqlError> {
    let mut functions = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_name() || !symbol_at(tokens, at + 1, "(") {
            continue;
        }
        if let Some(why) = policy::refusal(engine, &token.text, tokens.get(at + 2..)) {
            let message = format!("the function `{}` {why}; leave it out", token.text);
            return Err(refuse_at(text, token.at, &message));
        }
        let function = FunctionName { schema: schema(tokens, at), name: token.text.clone() };
        let is_keyword = function.schema.is_none() && token.is_one_of(KEYWORDS);
        if !is_keyword {
            functions.push(function);
        }
    }
    functions.sort_unstable();
    functions.dedup();
    Ok(functions)
}

/// Names behind a dot that are not called, sorted, each once.
pub(super) fn attributes(tokens: &[Token]) -> Vec<String> {
    let behind_dots = tokens.iter().enumerate().skip(1).filter(|(at, token)| {
        token.is_name()
            && symbol_at(tokens, at - 1, ".")
            && !symbol_at(tokens, at + 1, "(")
            && !symbol_at(tokens, at + 1, ".")
    });
    let mut attributes: Vec<String> = behind_dots.map(|(_, token)| token.text.clone()).collect();
    attributes.sort_unstable();
    attributes.dedup();
    attributes
}

fn schema(tokens: &[Token], at: usize) -> Option<String> {
    let owner = at.checked_sub(2)?;
    let is_owned = symbol_at(tokens, at - 1, ".");
    tokens
        .get(owner)
        .filter(|schema| is_owned && matches!(schema.kind, Kind::Word | Kind::Name))
        .map(|schema| schema.text.clone())
}
