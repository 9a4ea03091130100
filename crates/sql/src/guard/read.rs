//! The way to a [`ReadOnlyQuery`].

use super::{
    form::form,
    functions::{attributes, called},
    lexer::{Lexed, lex},
    refusal::refuse_at,
    relations, rules,
    statement::ReadOnlyQuery,
    tree::{self, Fault},
};
use crate::{Engine, SqlError};

/// Looks at a statement, and vouches for it if it only reads.
///
/// What remains to the driver: to run it as a prepared statement in a transaction
/// that is read-only, with a timeout; and in `PostgreSQL`, to look its functions up.
pub fn read(engine: Engine, text: &str) -> Result<ReadOnlyQuery, SqlError> {
    let lexed = one(text, lex(engine, text)?)?;
    let form = form(engine, text, &lexed.tokens)?;
    rules::check(engine, text, &lexed.tokens)?;
    relations::check(engine, text, &lexed.tokens)?;
    let functions = called(engine, text, &lexed.tokens)?;
    if let Some(query) = form.query {
        let from = lexed.tokens.get(query).map_or(0, |token| token.at);
        match tree::query(engine, &lexed.masked, from, lexed.tokens.len()) {
            Ok(()) => {}
            Err(Fault::Refused(why)) => return Err(refuse_at(text, from, why)),
            Err(Fault::NotUnderstood) => rules::check_strictly(text, &lexed.tokens)?,
        }
    }
    Ok(ReadOnlyQuery {
        engine,
        text: lexed.clean.trim().to_owned(),
        kind: form.kind,
        functions,
        attributes: attributes(&lexed.tokens),
    })
}

/// Cuts off the semicolons at the end. Refuses a second statement.
pub(super) fn one(text: &str, mut lexed: Lexed) -> Result<Lexed, SqlError> {
    while lexed.tokens.last().is_some_and(|token| token.is_symbol(";")) {
        if let Some(semicolon) = lexed.tokens.pop() {
            lexed.clean.truncate(semicolon.at);
            lexed.masked.truncate(semicolon.at);
        }
    }
    match lexed.tokens.iter().find(|token| token.is_symbol(";")) {
        Some(semicolon) => {
            let message = "only one statement can be run at a time; leave the others out";
            Err(refuse_at(text, semicolon.at, message))
        }
        None => Ok(lexed),
    }
}
