//! Check of read-only statements; creates a [`ReadOnlyQuery`].

use super::{
    classify::classify_statement,
    functions::{called_functions, identifiers},
    lexer::{LexedStatement, tokenize},
    rejection::reject_at,
    relations, rules,
    source_tables::source_tables,
    statement::ReadOnlyQuery,
    tree::{self, TreeError},
};
use crate::{Engine, SqlError};

/// Checks that a statement only reads.
///
/// The driver must run it as a prepared statement in a read-only transaction with a timeout and, in
/// `PostgreSQL`, check what it calls by the server's own resolution.
pub fn check_query(engine: Engine, text: &str) -> Result<ReadOnlyQuery, SqlError> {
    let lexed = single_statement(text, tokenize(engine, text)?)?;
    relations::check_statement_tables(engine, text, &lexed.tokens)?;
    check_lexed(engine, text, &lexed)
}

/// Checks a statement that is part of this program and reads only what the server itself defines. It may
/// also list the statements that run.
pub fn check_own_query(engine: Engine, text: &'static str) -> Result<ReadOnlyQuery, SqlError> {
    let lexed = single_statement(text, tokenize(engine, text)?)?;
    Ok(ReadOnlyQuery { is_own: true, ..check_lexed(engine, text, &lexed)? })
}

fn check_lexed(
    engine: Engine,
    text: &str,
    lexed: &LexedStatement,
) -> Result<ReadOnlyQuery, SqlError> {
    let form = classify_statement(engine, text, &lexed.tokens)?;
    rules::check_tokens(engine, text, &lexed.tokens)?;
    relations::check_relations(engine, text, &lexed.tokens)?;
    let functions = called_functions(engine, text, &lexed.tokens)?;
    if let Some(query) = form.query_start {
        let from = lexed.tokens.get(query).map_or(0, |token| token.offset);
        match tree::check_query_tree(engine, &lexed.masked, from, lexed.tokens.len()) {
            Ok(()) => {}
            Err(TreeError::Rejected(why)) => return Err(reject_at(text, from, why)),
            Err(TreeError::Unparsed) => rules::check_tokens_strictly(text, &lexed.tokens)?,
        }
    }
    let blanks = lexed.without_comments.len() - lexed.without_comments.trim_start().len();
    let query_start = form.query_start.and_then(|query| lexed.tokens.get(query));
    Ok(ReadOnlyQuery {
        engine,
        text: lexed.without_comments.trim().to_owned(),
        kind: form.kind,
        functions,
        identifiers: identifiers(engine, text, &lexed.tokens),
        source_tables: source_tables(engine, text, &lexed.tokens),
        query_start: query_start.map_or(0, |token| token.offset - blanks),
        is_own: false,
    })
}

/// Removes trailing semicolons. Fails if there is a second statement.
pub(super) fn single_statement(
    text: &str,
    mut lexed: LexedStatement,
) -> Result<LexedStatement, SqlError> {
    while lexed.tokens.last().is_some_and(|token| token.is_symbol(";")) {
        if let Some(semicolon) = lexed.tokens.pop() {
            lexed.without_comments.truncate(semicolon.offset);
            lexed.masked.truncate(semicolon.offset);
        }
    }
    match lexed.tokens.iter().find(|token| token.is_symbol(";")) {
        Some(semicolon) => {
            let message = "only one statement can be run at a time; leave the others out";
            Err(reject_at(text, semicolon.offset, message))
        }
        None => Ok(lexed),
    }
}
