//! What no statement that reads has in it, whatever a parser makes of it.

use super::{
    refusal::refuse_at,
    token::{Kind, Token, symbol_at, words_at},
};
use crate::{Engine, SqlError};

/// Verbs that change rows where a query may have another statement in it.
const CHANGING: [&str; 5] = ["insert", "update", "delete", "merge", "replace"];

/// What stands behind FOR where rows are locked.
const LOCKS: [&[&str]; 4] = [&["update"], &["share"], &["no", "key"], &["key", "share"]];

/// Refuses what writes, locks or leaves something behind in the session.
pub(super) fn check(engine: Engine, text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    for (at, token) in tokens.iter().enumerate() {
        let refused = match token.kind {
            Kind::Word => word(tokens, at),
            Kind::Symbol if engine == Engine::MySql => assignment(tokens, at),
            Kind::Symbol | Kind::Name | Kind::Literal | Kind::Number => None,
        };
        if let Some(message) = refused {
            return Err(refuse_at(text, token.at, &message));
        }
    }
    Ok(())
}

/// Refuses more: for statements that the parser does not understand. What is left
/// can only read. A query that begins with SELECT, VALUES or TABLE changes rows by
/// nothing but INTO, locks and functions, unless it has a WITH in it; and with that,
/// by nothing but one of these verbs.
pub(super) fn check_strictly(text: &str, tokens: &[Token]) -> Result<(), SqlError> {
    if !tokens.iter().any(|token| token.is_word("with")) {
        return Ok(());
    }
    let changing = tokens.iter().enumerate().find(|(at, token)| {
        let is_function = token.is_one_of(&["insert", "replace"]) && symbol_at(tokens, at + 1, "(");
        token.is_one_of(&CHANGING) && !is_function && !is_member(tokens, *at)
    });
    changing.map_or(Ok(()), |(_, token)| {
        let message = format!(
            "the statement could not be understood, and has `{}` in it; put names in quotes or \
             write it more plainly",
            token.text
        );
        Err(refuse_at(text, token.at, &message))
    })
}

fn word(tokens: &[Token], at: usize) -> Option<String> {
    let token = tokens.get(at)?;
    match token.text.as_str() {
        "into" if !is_member(tokens, at) && !is_label(tokens, at) => {
            Some("`INTO` writes what is read somewhere; leave it out".to_owned())
        }
        "for" if LOCKS.iter().any(|lock| words_at(tokens, at + 1, lock)) => {
            Some("`FOR UPDATE` and its like lock rows; leave it out".to_owned())
        }
        "lock" if words_at(tokens, at + 1, &["in", "share"]) => {
            Some("`LOCK IN SHARE MODE` locks rows; leave it out".to_owned())
        }
        "value" if words_at(tokens, at + 1, &["for"]) && follows(tokens, at, &["next"]) => {
            Some("`NEXT VALUE FOR` moves a sequence on; leave it out".to_owned())
        }
        verb if CHANGING.contains(&verb) && begins_statement(tokens, at) => Some(format!(
            "`{}` changes data; only queries may stand here",
            verb.to_ascii_uppercase()
        )),
        _ => None,
    }
}

/// Whether a verb stands where the grammar has a statement: behind `AS (`.
fn begins_statement(tokens: &[Token], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    before(1).is_some_and(|bracket| bracket.is_symbol("("))
        && before(2).is_some_and(|word| word.is_one_of(&["as", "materialized"]))
}

/// Whether it is a name behind a dot, as in `t.into`. Behind `1.` it is none.
fn is_member(tokens: &[Token], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let token = tokens.get(at);
    before(1)
        .is_some_and(|dot| dot.is_symbol(".") && token.is_some_and(|token| token.at == dot.at + 1))
        && before(2)
            .is_some_and(|owner| owner.is_name() || owner.is_symbol(")") || owner.is_symbol("]"))
}

/// Whether it is what a column is called.
fn is_label(tokens: &[Token], at: usize) -> bool {
    follows(tokens, at, &["as"])
}

fn follows(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|token| token.is_one_of(words))
}

/// `:=` keeps a value in the session of `MySQL`.
fn assignment(tokens: &[Token], at: usize) -> Option<String> {
    let (colon, equals) = (tokens.get(at)?, tokens.get(at + 1)?);
    let is_one = colon.is_symbol(":") && equals.is_symbol("=") && equals.at == colon.at + 1;
    is_one.then(|| "`:=` sets a variable of the session; leave it out".to_owned())
}
