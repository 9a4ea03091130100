//! Which kind of statement it is, by its first words.

use super::{
    pragma,
    refusal::{refuse, refuse_at},
    statement::Kind,
    token::{Kind as TokenKind, Token, symbol_at},
};
use crate::{Engine, SqlError};

/// What a statement is, and where the query begins that is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// What it is.
    pub(super) kind: Kind,
    /// The first token of the query; none, if it tells of something by itself.
    pub(super) query: Option<usize>,
}

/// What may follow EXPLAIN in brackets.
const OPTIONS: [&str; 11] = [
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

/// What is said of EXPLAIN DELETE.
const NOT_EXPLAINED: &str = "EXPLAIN is for queries only; write a SELECT behind it";

/// What a query begins with.
const QUERIES: [&str; 4] = ["select", "with", "values", "table"];

/// Tells the kind, and refuses all that is no query, EXPLAIN of one, or telling.
pub(super) fn form(engine: Engine, text: &str, tokens: &[Token]) -> Result<Form, SqlError> {
    let Some(first) = tokens.first() else {
        return Err(refuse("there is no statement; write a query"));
    };
    if is_query(tokens, 0) {
        return Ok(Form { kind: Kind::Rows, query: Some(0) });
    }
    let verb = if first.kind == TokenKind::Word { first.text.as_str() } else { "" };
    match (engine, verb) {
        (Engine::Postgres, "explain") => explain(text, tokens, postgres_options(tokens)),
        (Engine::Sqlite, "explain") => {
            let is_plan = super::token::words_at(tokens, 1, &["query", "plan"]);
            explain(text, tokens, if is_plan { 3 } else { 1 })
        }
        (Engine::MySql, "explain" | "describe" | "desc" | "analyze") => mysql_explain(text, tokens),
        (Engine::Postgres, "show") => postgres_show(text, tokens),
        (Engine::MySql, "show") => mysql_show(text, tokens),
        (Engine::Sqlite, "pragma") => {
            pragma::check(text, tokens.get(1..).unwrap_or_default())?;
            Ok(Form { kind: Kind::Show, query: None })
        }
        _ => Err(unknown(engine, text, first)),
    }
}

fn unknown(engine: Engine, text: &str, first: &Token) -> SqlError {
    let allowed = match engine {
        Engine::Postgres => "SELECT, WITH, VALUES, TABLE, EXPLAIN of a query and SHOW",
        Engine::MySql => "SELECT, WITH, VALUES, TABLE, EXPLAIN of a query, SHOW and DESCRIBE",
        Engine::Sqlite => {
            "SELECT, WITH, VALUES, EXPLAIN of a query and PRAGMAs that tell something"
        }
    };
    let what = match first.kind {
        TokenKind::Word => format!("`{}`", first.text.to_ascii_uppercase()),
        TokenKind::Name | TokenKind::Literal | TokenKind::Number | TokenKind::Symbol => {
            "this".to_owned()
        }
    };
    let message = format!("{what} is not a read; only {allowed} are");
    refuse_at(text, first.at, &message)
}

/// Whether a query begins here, perhaps in brackets.
fn is_query(tokens: &[Token], from: usize) -> bool {
    let mut rest = tokens.iter().skip(from).skip_while(|token| token.is_symbol("("));
    rest.next().is_some_and(|token| token.is_one_of(&QUERIES))
}

fn explain(text: &str, tokens: &[Token], query: usize) -> Result<Form, SqlError> {
    if is_query(tokens, query) {
        return Ok(Form { kind: Kind::Explain, query: Some(query) });
    }
    let at = tokens.get(query).map_or(text.len(), |token| token.at);
    Err(refuse_at(text, at, NOT_EXPLAINED))
}

/// Where the statement begins behind EXPLAIN and its options.
fn postgres_options(tokens: &[Token]) -> usize {
    let has_list = symbol_at(tokens, 1, "(")
        && tokens.get(2).is_some_and(|word| word.is_one_of(&OPTIONS) || word.is_word("memory"));
    if has_list {
        let close = tokens.iter().position(|token| token.is_symbol(")"));
        return close.map_or(tokens.len(), |close| close + 1);
    }
    let is_option = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    let mut at = 1;
    at += usize::from(is_option(at, "analyze") || is_option(at, "analyse"));
    at + usize::from(is_option(at, "verbose"))
}

/// EXPLAIN of a query, or of a table: then it is DESCRIBE.
fn mysql_explain(text: &str, tokens: &[Token]) -> Result<Form, SqlError> {
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
    if is_query(tokens, at) && !is_table {
        return Ok(Form { kind: Kind::Explain, query: Some(at) });
    }
    let is_described = !is_analyze && is_described(tokens.get(1..).unwrap_or_default());
    if is_described {
        return Ok(Form { kind: Kind::Show, query: None });
    }
    let at = tokens.get(at).map_or(text.len(), |token| token.at);
    Err(refuse_at(text, at, NOT_EXPLAINED))
}

/// Whether it is a table, and perhaps a column or a pattern of columns.
fn is_described(rest: &[Token]) -> bool {
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

/// SHOW of a setting.
fn postgres_show(text: &str, tokens: &[Token]) -> Result<Form, SqlError> {
    let rest = tokens.get(1..).unwrap_or_default();
    let is_setting =
        !rest.is_empty() && rest.iter().all(|token| token.is_name() || token.is_symbol("."));
    if is_setting {
        return Ok(Form { kind: Kind::Show, query: None });
    }
    let at = rest.first().map_or(text.len(), |token| token.at);
    Err(refuse_at(text, at, "SHOW tells one setting; write its name"))
}

/// SHOW of anything but what holds passwords.
fn mysql_show(text: &str, tokens: &[Token]) -> Result<Form, SqlError> {
    let told = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    let is_own = told(3, "current_user") && told(2, "for");
    let shows_password = (told(1, "create") && told(2, "user"))
        || (told(1, "grants") && told(2, "for") && !is_own)
        || tokens.iter().any(|token| token.is_one_of(&["binlog", "relaylog", "hosts"]));
    if tokens.len() > 1 && !shows_password {
        return Ok(Form { kind: Kind::Show, query: None });
    }
    let at = tokens.get(1).map_or(text.len(), |token| token.at);
    Err(refuse_at(text, at, "SHOW of this may hold passwords or rows of all tables; leave it out"))
}
