//! Classification of a statement by its first words.

use super::{
    pragma,
    rejection::{reject, reject_at},
    statement::StatementKind,
    token::{Token, TokenKind, symbol_at},
};
use crate::{Engine, SqlError};

/// Kind of a statement and the position of the query in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatementForm {
    /// Kind of statement.
    pub(super) kind: StatementKind,
    /// Index of the first token of the query; `None` for SHOW, DESCRIBE and PRAGMA.
    pub(super) query_start: Option<usize>,
}

/// Options that EXPLAIN accepts in parentheses.
const EXPLAIN_OPTIONS: [&str; 11] = [
    "analyze",
    "verbose",
    "costs",
    "settings",
    "generic_plan",
    "buffers",
    "serialize",
    "wal",
    "timing",
    "summary",
    "format",
];

/// Message for EXPLAIN of a statement that is not a query.
const EXPLAIN_NEEDS_QUERY: &str = "EXPLAIN accepts queries only; write a SELECT after it";

/// First words of a query.
const QUERY_VERBS: [&str; 4] = ["select", "with", "values", "table"];

/// Classifies a statement. Rejects everything except queries, EXPLAIN of a query and statements
/// such as SHOW.
pub(super) fn classify_statement(
    engine: Engine,
    text: &str,
    tokens: &[Token],
) -> Result<StatementForm, SqlError> {
    let Some(first) = tokens.first() else {
        return Err(reject("the statement is empty; write a query"));
    };
    if is_query_at(tokens, 0) {
        return Ok(StatementForm { kind: StatementKind::Rows, query_start: Some(0) });
    }
    let verb = if first.kind == TokenKind::Word { first.text.as_str() } else { "" };
    match (engine, verb) {
        (Engine::Postgres, "explain") => {
            classify_explain(text, tokens, skip_explain_options(tokens))
        }
        (Engine::Sqlite, "explain") => {
            let is_plan = super::token::words_at(tokens, 1, &["query", "plan"]);
            classify_explain(text, tokens, if is_plan { 3 } else { 1 })
        }
        (Engine::MySql, "explain" | "describe" | "desc" | "analyze") => {
            classify_mysql_explain(text, tokens)
        }
        (Engine::Postgres, "show") => classify_postgres_show(text, tokens),
        (Engine::MySql, "show") => classify_mysql_show(text, tokens),
        (Engine::Sqlite, "pragma") => {
            pragma::check_pragma(text, tokens.get(1..).unwrap_or_default())?;
            Ok(StatementForm { kind: StatementKind::Show, query_start: None })
        }
        _ => Err(reject_unknown_verb(engine, text, first)),
    }
}

fn reject_unknown_verb(engine: Engine, text: &str, first: &Token) -> SqlError {
    let allowed = match engine {
        Engine::Postgres => "SELECT, WITH, VALUES, TABLE, EXPLAIN of a query and SHOW",
        Engine::MySql => "SELECT, WITH, VALUES, TABLE, EXPLAIN of a query, SHOW and DESCRIBE",
        Engine::Sqlite => "SELECT, WITH, VALUES, EXPLAIN of a query and read-only PRAGMAs",
    };
    let what = match first.kind {
        TokenKind::Word => format!("`{}`", first.text.to_ascii_uppercase()),
        TokenKind::Name
        | TokenKind::Literal
        | TokenKind::Number
        | TokenKind::Symbol
        | TokenKind::Place => "this".to_owned(),
    };
    let message = format!("{what} is not a read; only {allowed} are");
    reject_at(text, first.offset, &message)
}

/// Returns true if a query begins at token `from`, possibly in parentheses.
fn is_query_at(tokens: &[Token], from: usize) -> bool {
    let mut rest = tokens.iter().skip(from).skip_while(|token| token.is_symbol("("));
    rest.next().is_some_and(|token| token.is_one_of(&QUERY_VERBS))
}

fn classify_explain(text: &str, tokens: &[Token], query: usize) -> Result<StatementForm, SqlError> {
    if is_query_at(tokens, query) {
        return Ok(StatementForm { kind: StatementKind::Explain, query_start: Some(query) });
    }
    let at = tokens.get(query).map_or(text.len(), |token| token.offset);
    Err(reject_at(text, at, EXPLAIN_NEEDS_QUERY))
}

/// Returns the index of the first token after EXPLAIN and its options.
fn skip_explain_options(tokens: &[Token]) -> usize {
    let has_list = symbol_at(tokens, 1, "(")
        && tokens
            .get(2)
            .is_some_and(|word| word.is_one_of(&EXPLAIN_OPTIONS) || word.is_word("memory"));
    if has_list {
        let close = tokens.iter().position(|token| token.is_symbol(")"));
        return close.map_or(tokens.len(), |close| close + 1);
    }
    let is_option = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    let mut at = 1;
    at += usize::from(is_option(at, "analyze") || is_option(at, "analyse"));
    at + usize::from(is_option(at, "verbose"))
}

/// Classifies EXPLAIN of a query, or of a table, which is the same as DESCRIBE.
fn classify_mysql_explain(text: &str, tokens: &[Token]) -> Result<StatementForm, SqlError> {
    let is_analyze = tokens.first().is_some_and(|token| token.is_word("analyze"));
    let mut at = 1;
    while tokens.get(at).is_some_and(|it| it.is_one_of(&["extended", "partitions", "analyze"])) {
        at += 1;
    }
    if tokens.get(at).is_some_and(|token| token.is_word("format")) && symbol_at(tokens, at + 1, "=")
    {
        at += 3;
    }
    // ANALYZE TABLE writes statistics.
    let is_table = is_analyze && tokens.get(at).is_some_and(|token| token.is_word("table"));
    if is_query_at(tokens, at) && !is_table {
        return Ok(StatementForm { kind: StatementKind::Explain, query_start: Some(at) });
    }
    let is_described = !is_analyze && is_describe_target(tokens.get(1..).unwrap_or_default());
    if is_described {
        return Ok(StatementForm { kind: StatementKind::Show, query_start: None });
    }
    let at = tokens.get(at).map_or(text.len(), |token| token.offset);
    Err(reject_at(text, at, EXPLAIN_NEEDS_QUERY))
}

/// Returns true for a table, optionally followed by a column or a column pattern.
fn is_describe_target(rest: &[Token]) -> bool {
    let is_verb = |token: &Token| {
        token.is_one_of(&["insert", "update", "delete", "replace", "merge", "for", "analyze"])
    };
    let column = match rest {
        [table, dot, name, column @ ..] if dot.is_symbol(".") => {
            if !table.is_name() || !name.is_name() {
                return false;
            }
            column
        }
        [table, column @ ..] if table.is_name() => column,
        _ => return false,
    };
    let is_column = |token: &Token| token.is_name() || token.kind == TokenKind::Literal;
    !rest.iter().any(is_verb)
        && match column {
            [] => true,
            [column] => is_column(column),
            _ => false,
        }
}

/// Accepts SHOW of one setting.
fn classify_postgres_show(text: &str, tokens: &[Token]) -> Result<StatementForm, SqlError> {
    let rest = tokens.get(1..).unwrap_or_default();
    let is_setting =
        !rest.is_empty() && rest.iter().all(|token| token.is_name() || token.is_symbol("."));
    if is_setting {
        return Ok(StatementForm { kind: StatementKind::Show, query_start: None });
    }
    let at = rest.first().map_or(text.len(), |token| token.offset);
    Err(reject_at(text, at, "SHOW needs the name of one setting"))
}

/// Accepts SHOW, except of objects that may contain passwords.
fn classify_mysql_show(text: &str, tokens: &[Token]) -> Result<StatementForm, SqlError> {
    let is_word_at =
        |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    let is_own = is_word_at(3, "current_user") && is_word_at(2, "for");
    let shows_password = (is_word_at(1, "create") && is_word_at(2, "user"))
        || (is_word_at(1, "grants") && is_word_at(2, "for") && !is_own)
        // The status of an engine contains statements of other users, as does the plan of a connection.
        || is_word_at(1, "engine")
        || is_word_at(1, "processlist")
        || is_word_at(1, "full") && is_word_at(2, "processlist")
        || is_word_at(1, "explain")
        || is_word_at(1, "analyze")
        || tokens.iter().any(|token| token.is_one_of(&["binlog", "relaylog", "hosts"]));
    if tokens.len() > 1 && !shows_password {
        return Ok(StatementForm { kind: StatementKind::Show, query_start: None });
    }
    let at = tokens.get(1).map_or(text.len(), |token| token.offset);
    Err(reject_at(
        text,
        at,
        "this SHOW may disclose passwords, or statements and rows of others; leave it out",
    ))
}
