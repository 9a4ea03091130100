//! Restriction of reads of the statistics of columns to tables without passwords.

use super::{
    lexer::tokenize,
    token::{Token, TokenKind, symbol_at, words_at},
};
use crate::Engine;

/// Words that may weaken a condition, or add another source of rows.
const WEAKENING: [&str; 12] = [
    "between",
    "case",
    "except",
    "having",
    "intersect",
    "is",
    "join",
    "not",
    "notnull",
    "or",
    "union",
    "with",
];

/// Words that may follow a condition at the top level.
const AFTER_CONDITION: [&str; 6] = ["and", "fetch", "group", "limit", "offset", "order"];

/// Returns true if a query of `PostgreSQL` is a single SELECT with the condition that `tablename` or
/// `schemaname` equals a string, and the string excludes `tables` of the schema `pg_catalog`.
pub(crate) fn excludes_statistics_of(tables: &[&str], text: &str) -> bool {
    let Ok(lexed) = tokenize(Engine::Postgres, text) else { return false };
    let tokens = &lexed.tokens;
    let selects = tokens.iter().filter(|token| token.is_word("select")).count();
    let is_simple = selects == 1
        && reads_view_only(tokens)
        && !tokens.iter().any(|token| token.is_one_of(&WEAKENING));
    is_simple && (1..tokens.len()).any(|at| is_restriction(tokens, at, tables))
}

/// Returns true if the only source is `pg_stats`, under its own name and with its own columns.
fn reads_view_only(tokens: &[Token]) -> bool {
    let mut sources = tokens.iter().enumerate().filter(|(_, token)| token.is_word("from"));
    let (Some((from, _)), None) = (sources.next(), sources.next()) else { return false };
    let is_qualified =
        words_at(tokens, from + 1, &["pg_catalog"]) && symbol_at(tokens, from + 2, ".");
    let view = if is_qualified { from + 3 } else { from + 1 };
    words_at(tokens, view, &["pg_stats", "where"])
}

/// Returns true for a condition at the top level that begins at this token.
fn is_restriction(tokens: &[Token], at: usize, tables: &[&str]) -> bool {
    let is_first = tokens.get(at - 1).is_some_and(|before| before.is_one_of(&["where", "and"]));
    let open = tokens.iter().take(at).filter(|token| token.is_symbol("(")).count();
    let closed = tokens.iter().take(at).filter(|token| token.is_symbol(")")).count();
    let end = tokens.get(at + 3);
    let is_whole = end.is_none_or(|token| token.is_one_of(&AFTER_CONDITION));
    let excludes = |value: &str| match tokens.get(at) {
        Some(column) if column.is_word("tablename") => !tables.contains(&value),
        Some(column) if column.is_word("schemaname") => value != "pg_catalog",
        _ => false,
    };
    let value = tokens.get(at + 2).filter(|token| token.kind == TokenKind::Literal);
    // A backslash may begin an escape, so that the text is another one.
    let value = value.filter(|token| !token.text.contains('\\'));
    is_first
        && open == closed
        && is_whole
        && symbol_at(tokens, at + 1, "=")
        && value.is_some_and(|value| excludes(&value.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certain_restriction_excludes_tables() {
        let excludes = |text: &str| excludes_statistics_of(&["pg_authid"], text);
        for text in [
            "SELECT * FROM pg_stats WHERE tablename = 'users' LIMIT 1",
            "SELECT most_common_vals FROM pg_stats WHERE schemaname='public' AND attname = 'a'",
            "SELECT * FROM pg_stats WHERE attname = 'a' AND tablename = 'users' ORDER BY attname",
        ] {
            assert!(excludes(text), "{text}");
        }
        for text in [
            "SELECT * FROM pg_stats",
            "SELECT * FROM pg_stats WHERE tablename = 'pg_authid'",
            "SELECT * FROM pg_stats WHERE tablename = E'pg\\x5fauthid'",
            "SELECT * FROM pg_stats WHERE schemaname = 'pg_catalog'",
            "SELECT * FROM pg_stats WHERE tablename = 'users' OR TRUE",
            "SELECT * FROM pg_stats WHERE NOT tablename = 'users'",
            "SELECT * FROM pg_stats WHERE (tablename = 'users') = FALSE",
            "SELECT * FROM pg_stats WHERE FALSE = (FALSE AND tablename = 'users')",
            "SELECT * FROM pg_stats WHERE tablename = 'users' = FALSE",
            "SELECT * FROM pg_stats WHERE tablename = 'users' || ''",
            "SELECT * FROM pg_stats WHERE tablename = 'users' IS FALSE",
            "SELECT * FROM pg_stats WHERE TRUE BETWEEN TRUE AND tablename = 'users'",
            "SELECT tablename = 'users' FROM pg_stats",
            "SELECT * FROM pg_stats AS s (schemaname, a, tablename) WHERE tablename = 'users'",
            "SELECT (SELECT 1 WHERE tablename = 'users') FROM pg_stats",
            "SELECT * FROM pg_stats UNION SELECT * FROM pg_stats WHERE tablename = 'users'",
            "SELECT a.* FROM pg_stats AS a, (VALUES ('users')) AS b (tablename) WHERE tablename = 'users'",
        ] {
            assert!(!excludes(text), "{text}");
        }
    }
}
