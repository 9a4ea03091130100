//! Check of statements for profiles that may write.

use super::{
    lexer::{LexedStatement, tokenize},
    read::single_statement,
    rejection::{reject, reject_at},
    statement::WriteStatement,
    token::{Token, words_at},
};
use crate::{Engine, SqlError};

/// Verbs that are rejected even for profiles that may write, with the reason.
const REJECTED_VERBS: [(&[&str], &str); 4] = [
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
        "the next statement may run in another session",
    ),
    (
        &["copy", "load", "attach", "detach", "install", "uninstall", "import"],
        "files and programs of the server are not accessible",
    ),
    (&["shutdown", "restart", "kill", "checkpoint"], "server administration is not permitted"),
];

/// Checks that the text is one statement that can run on its own.
pub fn check_write(engine: Engine, text: &str) -> Result<WriteStatement, SqlError> {
    let lexed = tokenize(engine, text)?;
    let lexed = if has_body(&lexed.tokens) {
        trim_trailing_semicolons(lexed)
    } else {
        single_statement(text, lexed)?
    };
    let Some(first) = lexed.tokens.first() else {
        return Err(reject("the statement is empty; write one"));
    };
    let refused = REJECTED_VERBS.iter().find(|(verbs, _)| first.is_one_of(verbs));
    if let Some((_, why)) = refused {
        let verb = first.text.to_ascii_uppercase();
        return Err(reject_at(
            text,
            first.offset,
            &format!("`{verb}` is not permitted: {why}; leave it out"),
        ));
    }
    Ok(WriteStatement { engine, text: lexed.without_comments.trim().to_owned() })
}

/// Returns true if the statement creates a routine or trigger with a body that ends in END. The
/// server ensures that nothing follows the body, because it prepares a single statement only.
fn has_body(tokens: &[Token]) -> bool {
    let head = tokens.iter().take(12);
    let is_made = words_at(tokens, 0, &["create"])
        && head.clone().any(|it| it.is_one_of(&["trigger", "procedure", "function", "event"]));
    let last = tokens.iter().rev().find(|token| !token.is_symbol(";"));
    is_made
        && tokens.iter().any(|token| token.is_word("begin"))
        && last.is_some_and(|token| token.is_word("end"))
}

/// Removes trailing semicolons and keeps those inside the body.
fn trim_trailing_semicolons(mut lexed: LexedStatement) -> LexedStatement {
    while lexed.tokens.last().is_some_and(|token| token.is_symbol(";")) {
        if let Some(semicolon) = lexed.tokens.pop() {
            lexed.without_comments.truncate(semicolon.offset);
        }
    }
    lexed
}
