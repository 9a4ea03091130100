//! Token rules for read-only statements, independent of the parser.

use super::{
    rejection::reject_at,
    token::{Token, TokenKind, symbol_at, words_at},
};
use crate::{Engine, SqlError};

/// Verbs that change rows when a query contains another statement.
const WRITE_VERBS: [&str; 5] = ["insert", "update", "delete", "merge", "replace"];

/// Words after FOR that lock rows.
const LOCK_CLAUSES: [&[&str]; 4] = [&["update"], &["share"], &["no", "key"], &["key", "share"]];

/// Rejects tokens that write, lock rows or change the session.
pub(super) fn check_tokens(engine: Engine, text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    for (at, token) in tokens.iter().enumerate() {
        let refused = match token.kind {
            TokenKind::Word => check_word(tokens, at),
            TokenKind::Symbol if engine == Engine::MySql => check_assignment(tokens, at),
            TokenKind::Symbol
            | TokenKind::Name
            | TokenKind::Literal
            | TokenKind::Number
            | TokenKind::Place => None,
        };
        if let Some(message) = refused {
            return Err(reject_at(text, token.offset, &message));
        }
    }
    Ok(())
}

/// Applies stricter rules to statements that the parser cannot parse.
///
/// After [`check_tokens`], a query that begins with SELECT, VALUES or TABLE can change rows only by
/// a statement inside WITH. Such a statement needs one of the verbs in [`WRITE_VERBS`], so a
/// statement with both is rejected.
pub(super) fn check_tokens_strictly(text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    if !tokens.iter().any(|token| token.is_word("with")) {
        return Ok(());
    }
    let changing = tokens.iter().enumerate().find(|(at, token)| {
        let is_function = token.is_one_of(&["insert", "replace"]) && symbol_at(tokens, at + 1, "(");
        token.is_one_of(&WRITE_VERBS) && !is_function && !is_qualified_name(tokens, *at)
    });
    changing.map_or(Ok(()), |(_, token)| {
        let message = format!(
            "the statement could not be parsed and contains `{}`; quote names or \
             simplify it",
            token.text
        );
        Err(reject_at(text, token.offset, &message))
    })
}

fn check_word(tokens: &[Token], at: usize) -> Option<String> {
    let token = tokens.get(at)?;
    match token.text.as_str() {
        "into" if !is_qualified_name(tokens, at) && !is_column_alias(tokens, at) => {
            Some("`INTO` writes the result; leave it out".to_owned())
        }
        "for" if LOCK_CLAUSES.iter().any(|lock| words_at(tokens, at + 1, lock)) => {
            Some("`FOR UPDATE` and similar clauses lock rows; leave it out".to_owned())
        }
        "lock" if words_at(tokens, at + 1, &["in", "share"]) => {
            Some("`LOCK IN SHARE MODE` locks rows; leave it out".to_owned())
        }
        "value" if words_at(tokens, at + 1, &["for"]) && is_preceded_by(tokens, at, &["next"]) => {
            Some("`NEXT VALUE FOR` advances a sequence; leave it out".to_owned())
        }
        verb if WRITE_VERBS.contains(&verb) && begins_statement(tokens, at) => Some(format!(
            "`{}` changes data; only queries are allowed here",
            verb.to_ascii_uppercase()
        )),
        _ => None,
    }
}

/// Returns true if a verb is at a position where the grammar expects a statement: after `AS (`.
fn begins_statement(tokens: &[Token], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    before(1).is_some_and(|bracket| bracket.is_symbol("("))
        && before(2).is_some_and(|word| word.is_one_of(&["as", "materialized"]))
}

/// Returns true for a name after a dot, as in `t.into`. After a number such as `1.` it is not one.
fn is_qualified_name(tokens: &[Token], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let token = tokens.get(at);
    before(1).is_some_and(|dot| {
        dot.is_symbol(".") && token.is_some_and(|token| token.offset == dot.offset + 1)
    }) && before(2)
        .is_some_and(|owner| owner.is_name() || owner.is_symbol(")") || owner.is_symbol("]"))
}

/// Returns true if the token is a column alias.
fn is_column_alias(tokens: &[Token], at: usize) -> bool {
    is_preceded_by(tokens, at, &["as"])
}

fn is_preceded_by(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|token| token.is_one_of(words))
}

/// Rejects `:=`, which sets a session variable in `MySQL`.
fn check_assignment(tokens: &[Token], at: usize) -> Option<String> {
    let (colon, equals) = (tokens.get(at)?, tokens.get(at + 1)?);
    let is_one = colon.is_symbol(":") && equals.is_symbol("=") && equals.offset == colon.offset + 1;
    is_one.then(|| "`:=` sets a variable of the session; leave it out".to_owned())
}
