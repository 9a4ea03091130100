//! Tables and views that a statement reads, by their position in FROM clauses.

use super::{
    functions::{QualifiedName, may_be_name, qualified_name},
    token::{Token, symbol_at},
};
use crate::Engine;

/// Functions whose arguments may contain the word FROM.
const FUNCTIONS_WITH_FROM: [&str; 5] = ["extract", "trim", "substring", "substr", "mid"];

/// Words that end a FROM clause.
const CLAUSES_AFTER_FROM: [&str; 10] = [
    "where",
    "group",
    "having",
    "order",
    "limit",
    "union",
    "except",
    "intersect",
    "select",
    "window",
];

/// Position within the innermost brackets.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// True in a FROM clause.
    is_in_from: bool,
    /// True where a table must stand.
    expects_table: bool,
    /// True between the brackets of a function in whose arguments FROM begins no clause.
    is_argument: bool,
}

/// Returns the names in FROM clauses, without derived tables and table functions.
pub(super) fn source_tables(engine: Engine, text: &str, tokens: &[Token]) -> Vec<QualifiedName> {
    let (mut outer, mut position, mut sources) = (Vec::new(), Position::default(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        if token.is_symbol("(") {
            outer.push(Position { expects_table: false, ..position });
            position = Position {
                is_in_from: position.expects_table,
                expects_table: position.expects_table,
                is_argument: before.is_some_and(|word| word.is_one_of(&FUNCTIONS_WITH_FROM)),
            };
        } else if token.is_symbol(")") {
            position = outer.pop().unwrap_or_default();
        } else if token.is_symbol(",") || token.is_one_of(&["join", "straight_join"]) {
            position.expects_table = position.is_in_from;
        } else if token.is_word("table") || (token.is_word("from") && !position.is_argument) {
            position = Position { is_in_from: true, expects_table: true, ..position };
        } else if token.is_one_of(&CLAUSES_AFTER_FROM) {
            position = Position { is_in_from: false, expects_table: false, ..position };
        } else if position.expects_table
            && may_be_name(engine, token)
            && !token.is_one_of(&["lateral", "dual"])
            && !symbol_at(tokens, at + 1, ".")
        {
            position.expects_table = false;
            if !symbol_at(tokens, at + 1, "(") {
                sources.push(qualified_name(engine, text, tokens, at));
            }
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::{super::lexer::tokenize, *};

    #[test]
    fn source_tables_are_found_in_every_from_clause() {
        for (text, expected) in [
            ("SELECT 1", ""),
            ("SELECT a FROM t", "t"),
            ("SELECT a FROM .t", "t"),
            ("TABLE t", "t"),
            ("select `v`.`x` from `Shop`.`v` where `v`.`y` in (select b from c.d)", "Shop.v c.d"),
            ("SELECT 1 FROM a AS x, b y JOIN (c, d e) USING (f, g), h ON i = j, k", "a b c d h k"),
            ("SELECT 1 FROM (SELECT l, m FROM n) o, p.q WHERE r IN (s, t)", "n p.q"),
            ("SELECT EXTRACT(YEAR FROM u), TRIM('x' FROM v.w), x FROM y ORDER BY z, w", "y"),
            ("SELECT EXTRACT(YEAR FROM (SELECT a FROM b))", "b"),
            ("SELECT 1 FROM dual, LATERAL (SELECT 1 FROM a) b, JSON_TABLE(c, d) e, f", "a f"),
            ("SELECT 1 FROM a UNION SELECT b, c FROM 1d", "a 1d"),
            ("(SELECT a, b FROM ((c JOIN d ON e)))", "c d"),
        ] {
            let tokens = tokenize(Engine::MySql, text).unwrap().tokens;
            let found = source_tables(Engine::MySql, text, &tokens);
            let names: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(names.join(" "), expected, "{text}");
        }
    }
}
