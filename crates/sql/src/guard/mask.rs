//! Masking of literals in statements of other sessions, which may contain passwords and other
//! secrets.

use super::{
    lexer::{LexedStatement, tokenize},
    token::{Token, TokenKind},
};
use crate::Engine;

/// Signs that begin a string, a quoted name or a comment.
const OPENING_SIGNS: [char; 7] = ['\'', '"', '`', '$', '-', '/', '#'];

/// Returns a statement with `?` for each string and number, and without comments.
///
/// A text that the lexer cannot read, such as one that the server cut off, ends with `…` before its
/// first quote or comment, so that no part of a string is ever taken for code.
pub fn mask_literals(engine: Engine, text: &str) -> String {
    let lexed =
        if has_ambiguous_escapes(engine, text) { None } else { tokenize(engine, text).ok() };
    let masked = lexed.map_or_else(|| mask_unreadable(text), |lexed| mask_lexed(&lexed));
    masked.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn mask_lexed(lexed: &LexedStatement) -> String {
    let mut masked = String::with_capacity(lexed.masked.len());
    let mut end = 0;
    for token in lexed.tokens.iter().filter(|token| is_literal(token)) {
        masked.push_str(lexed.without_comments.get(end..token.offset).unwrap_or_default());
        masked.push('?');
        end = literal_end(&lexed.masked, token);
    }
    masked + lexed.without_comments.get(end..).unwrap_or_default()
}

fn mask_unreadable(text: &str) -> String {
    let end = text.find(OPENING_SIGNS).unwrap_or(text.len());
    let mut masked = String::with_capacity(end);
    for sign in text.get(..end).unwrap_or_default().chars() {
        match sign {
            sign if !sign.is_ascii_digit() => masked.push(sign),
            _ if !masked.ends_with('?') => masked.push('?'),
            _ => {}
        }
    }
    masked + " …"
}

/// Returns true if settings of the other session decide where its strings end.
fn has_ambiguous_escapes(engine: Engine, text: &str) -> bool {
    let quotes: &[&str] = match engine {
        Engine::Postgres => &["\\'"],
        Engine::MySql => &["\\'", "\\\""],
        Engine::Sqlite => &[],
    };
    quotes.iter().any(|quote| text.contains(quote))
}

/// Returns true for strings and numbers. A parameter such as `$1` holds no value.
fn is_literal(token: &Token) -> bool {
    match token.kind {
        TokenKind::Literal => true,
        TokenKind::Number => !token.text.starts_with('$'),
        TokenKind::Word | TokenKind::Name | TokenKind::Symbol | TokenKind::Place => false,
    }
}

/// Returns the end of a literal in the masked text, where a string has quotes only at its ends.
fn literal_end(masked: &str, token: &Token) -> usize {
    if token.kind == TokenKind::Number {
        return token.offset + token.text.len();
    }
    let rest = masked.get(token.offset..).unwrap_or_default();
    let mut quotes = rest.match_indices('\'').map(|(at, _)| at);
    quotes.nth(1).map_or(masked.len(), |at| token.offset + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_become_question_marks() {
        for (engine, text, masked) in [
            (
                Engine::Postgres,
                "SELECT *\n FROM \"User 1\" u2 -- secret\n WHERE a = 'se''cret' AND b > -1.5e3 AND c = $1",
                "SELECT * FROM \"User 1\" u2 WHERE a = ? AND b > -?.? AND c = $1",
            ),
            (Engine::Postgres, "ALTER ROLE a PASSWORD E'se\\\\cret'", "ALTER ROLE a PASSWORD ?"),
            (Engine::Postgres, "DO $x$ secret ' $x$ LANGUAGE sql", "DO ? LANGUAGE sql"),
            (Engine::Postgres, "SELECT U&'secret', x'00ff', 0xFF", "SELECT ?, ?, ?"),
            (
                Engine::MySql,
                "SELECT `a 1` FROM t WHERE b = \"secret\" # x",
                "SELECT `a 1` FROM t WHERE b = ?",
            ),
            (
                Engine::MySql,
                "CREATE USER a IDENTIFIED BY 'secret'",
                "CREATE USER a IDENTIFIED BY ?",
            ),
        ] {
            assert_eq!(mask_literals(engine, text), masked, "{text}");
        }
    }

    #[test]
    fn unreadable_text_ends_before_first_quote() {
        for (engine, text, masked) in [
            // Cut off by the server.
            (Engine::Postgres, "INSERT INTO t VALUES (17, 'secr", "INSERT INTO t VALUES (?, …"),
            // Read differently if standard_conforming_strings is off.
            (Engine::Postgres, "SELECT 'a\\'secret', b, 'c\\'' FROM t", "SELECT …"),
            (Engine::MySql, "SELECT 'a\\', secret, 'b' FROM t", "SELECT …"),
            (Engine::MySql, "SELECT 1 /*! 'secret' */", "SELECT ? …"),
            (Engine::Postgres, "SELECT a /* secret", "SELECT a …"),
            (Engine::Postgres, "<insufficient privilege>", "<insufficient privilege>"),
        ] {
            assert_eq!(mask_literals(engine, text), masked, "{text}");
            assert!(!mask_literals(engine, text).contains("secret"), "{text}");
        }
    }
}
