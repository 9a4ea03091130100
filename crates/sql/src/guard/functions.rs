//! Functions and attributes used by a statement.

use std::fmt;

use super::{
    function_policy,
    rejection::reject_at,
    token::{Token, TokenKind, symbol_at, words_at},
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
        if !may_be_name(engine, token) || !symbol_at(tokens, at + 1, "(") {
            continue;
        }
        if let Some(why) =
            function_policy::rejection_reason(engine, &token.text, tokens.get(at + 2..))
        {
            let message = format!("the function `{}` {why}; leave it out", token.text);
            return Err(reject_at(text, token.offset, &message));
        }
        let function = qualified_name(engine, text, tokens, at);
        let is_packaged = function.schema.is_some() && symbol_at(tokens, at.wrapping_sub(3), ".");
        if engine == Engine::MySql && is_packaged {
            let message = format!(
                "the function `{function}` belongs to a package, whose body is not checked; leave it out"
            );
            return Err(reject_at(text, token.offset, &message));
        }
        let is_keyword = function.schema.is_none() && token.is_one_of(NON_FUNCTION_KEYWORDS);
        let is_table = engine == Engine::MySql && has_column_list(tokens, at);
        if !is_keyword && !is_table {
            functions.push(function);
        }
    }
    functions.sort_unstable();
    functions.dedup();
    Ok(functions)
}

/// Returns true for the name of a derived table with a list of its columns: `WITH x (a) AS (…)` or
/// `(…) AS x (a)`. No call stands in these places.
fn has_column_list(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let is_alias = before.is_some_and(|it| it.is_symbol(")"))
        || (before.is_some_and(|it| it.is_word("as"))
            && symbol_at(tokens, at.wrapping_sub(2), ")"));
    let mut depth = 0_usize;
    let close = tokens.iter().enumerate().skip(at + 1).find(|(_, token)| {
        depth += usize::from(token.is_symbol("("));
        depth -= usize::from(token.is_symbol(")"));
        depth == 0
    });
    let after = close.map_or(tokens.len(), |(close, _)| close + 1);
    is_alias || (words_at(tokens, after, &["as"]) && symbol_at(tokens, after + 1, "("))
}

/// Returns all words and quoted names, sorted, without duplicates.
pub(super) fn identifiers(engine: Engine, text: &str, tokens: &[Token]) -> Vec<QualifiedName> {
    let names = tokens.iter().enumerate().filter(|(_, token)| may_be_name(engine, token));
    let mut identifiers: Vec<QualifiedName> =
        names.map(|(at, _)| qualified_name(engine, text, tokens, at)).collect();
    identifiers.sort_unstable();
    identifiers.dedup();
    identifiers
}

/// Returns true if the token can be a name. In `MySQL`, names may begin with digits.
pub(super) fn may_be_name(engine: Engine, token: &Token) -> bool {
    let is_number = || token.text.bytes().all(|digit| digit.is_ascii_digit());
    token.is_name() || (engine == Engine::MySql && token.kind == TokenKind::Number && !is_number())
}

/// Returns the name at this index, with its schema.
pub(super) fn qualified_name(
    engine: Engine,
    text: &str,
    tokens: &[Token],
    at: usize,
) -> QualifiedName {
    let written = |token: &Token| match (engine, token.kind) {
        // `MySQL` keeps the case of names without quotes.
        (Engine::MySql, TokenKind::Word | TokenKind::Number) => {
            let end = token.offset + token.text.len();
            text.get(token.offset..end).unwrap_or(&token.text).to_owned()
        }
        _ => token.text.clone(),
    };
    QualifiedName {
        schema: qualifying_token(engine, tokens, at).map(written),
        name: tokens.get(at).map(written).unwrap_or_default(),
    }
}

fn qualifying_token(engine: Engine, tokens: &[Token], at: usize) -> Option<&Token> {
    let owner = at.checked_sub(2)?;
    let is_owned = symbol_at(tokens, at - 1, ".") && !is_before_table(tokens, owner);
    tokens.get(owner).filter(|schema| is_owned && may_be_name(engine, schema))
}

/// Returns true for a word after which a dot qualifies nothing: in `MySQL`, `FROM .t` is `FROM t`.
fn is_before_table(tokens: &[Token], at: usize) -> bool {
    let reserved = ["from", "join", "straight_join", "table"];
    tokens.get(at).is_some_and(|word| {
        word.is_one_of(&reserved)
            || (word.is_word("oj") && symbol_at(tokens, at.wrapping_sub(1), "{"))
    })
}
