//! Conditions that stand behind WHERE in a statement of ours.

use super::{
    functions::called,
    lexer::lex,
    read::one,
    refusal::{refuse, refuse_at},
    relations, rules,
    statement::Condition,
    token::symbol_at,
    tree::{self, Fault},
};
use crate::{Engine, SqlError};

/// Looks at a condition. It may ask about the row at hand only: a sub-select would
/// tell of other tables.
pub fn condition(engine: Engine, text: &str) -> Result<Condition, SqlError> {
    let lexed = lex(engine, text)?;
    if lexed.has_comments {
        return Err(refuse("a condition has no comments; leave them out"));
    }
    if let Some(semicolon) = lexed.tokens.iter().find(|token| token.is_symbol(";")) {
        return Err(refuse_at(text, semicolon.at, "a condition has no semicolon; leave it out"));
    }
    let lexed = one(text, lexed)?;
    let Some(first) = lexed.tokens.first() else {
        return Err(refuse("there is no condition; leave the filter out or write one"));
    };
    rules::check(engine, text, &lexed.tokens)?;
    relations::check(engine, text, &lexed.tokens)?;
    called(engine, text, &lexed.tokens)?;
    let sub_select = lexed.tokens.iter().enumerate().find(|(at, token)| {
        let is_opened = *at == 0 || symbol_at(&lexed.tokens, at - 1, "(");
        token.is_word("select")
            || (is_opened && token.is_one_of(&["table", "values", "with", "select"]))
    });
    if let Some((_, word)) = sub_select {
        let message =
            "a condition asks about one row, without sub-selects; compare columns instead";
        return Err(refuse_at(text, word.at, message));
    }
    match tree::condition(engine, &lexed.masked, lexed.tokens.len()) {
        Ok(()) => {}
        Err(Fault::Refused(why)) => return Err(refuse_at(text, first.at, why)),
        // In parentheses it can be nothing but an expression or a sub-select, and
        // none of those stands in it.
        Err(Fault::NotUnderstood) => rules::check_strictly(text, &lexed.tokens)?,
    }
    Ok(Condition { engine, text: lexed.clean.trim().to_owned() })
}
