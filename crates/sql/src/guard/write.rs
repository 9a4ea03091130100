//! One statement of any kind, for profiles that may write.

use super::{
    lexer::{Lexed, lex},
    read::one,
    refusal::{refuse, refuse_at},
    statement::WriteStatement,
    token::{Token, words_at},
};
use crate::{Engine, SqlError};

/// Verbs that even a profile that may write does not run, and why.
const REFUSED: [(&[&str], &str); 4] = [
    (
        &["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "xa"],
        "each statement is a transaction of its own",
    ),
    (
        &[
            "set",
            "reset",
            "use",
            "discard",
            "prepare",
            "execute",
            "deallocate",
            "declare",
            "fetch",
            "move",
            "close",
            "listen",
            "unlisten",
            "lock",
            "unlock",
            "handler",
            "delimiter",
        ],
        "the next statement may have another session",
    ),
    (
        &["copy", "load", "attach", "detach", "install", "uninstall", "import"],
        "files and programs of the server are out of reach here",
    ),
    (&["shutdown", "restart", "kill", "checkpoint"], "the server is not run from here"),
];

/// Looks at a statement that may write: there must be one, which can be run alone.
pub fn one_statement(engine: Engine, text: &str) -> Result<WriteStatement, SqlError> {
    let lexed = lex(engine, text)?;
    let lexed = if has_body(&lexed.tokens) { whole(lexed) } else { one(text, lexed)? };
    let Some(first) = lexed.tokens.first() else {
        return Err(refuse("there is no statement; write one"));
    };
    let refused = REFUSED.iter().find(|(verbs, _)| first.is_one_of(verbs));
    if let Some((_, why)) = refused {
        let verb = first.text.to_ascii_uppercase();
        return Err(refuse_at(
            text,
            first.at,
            &format!("`{verb}` is not run: {why}; leave it out"),
        ));
    }
    Ok(WriteStatement { engine, text: lexed.clean.trim().to_owned() })
}

/// Whether it makes something that has statements in it, up to an END. That these
/// are all is seen to by the server, which prepares one statement only.
fn has_body(tokens: &[Token]) -> bool {
    let head = tokens.iter().take(12);
    let is_made = words_at(tokens, 0, &["create"])
        && head.clone().any(|it| it.is_one_of(&["trigger", "procedure", "function", "event"]));
    let last = tokens.iter().rev().find(|token| !token.is_symbol(";"));
    is_made
        && tokens.iter().any(|token| token.is_word("begin"))
        && last.is_some_and(|token| token.is_word("end"))
}

/// Leaves the semicolons inside, and cuts off those at the end.
fn whole(mut lexed: Lexed) -> Lexed {
    while lexed.tokens.last().is_some_and(|token| token.is_symbol(";")) {
        if let Some(semicolon) = lexed.tokens.pop() {
            lexed.clean.truncate(semicolon.at);
        }
    }
    lexed
}
