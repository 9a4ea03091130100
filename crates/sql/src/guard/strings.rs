//! Names of a text of SQL, and parameters in place of its strings.

use super::{
    functions::identifiers,
    lexer::tokenize,
    token::{Token, TokenKind},
};
use crate::Engine;

/// Keywords before a string that make it a value of a type of the server. No parameter can stand
/// there.
const TYPE_KEYWORDS: [&str; 3] = ["interval", "time", "timestamp"];

/// Returns all words and quoted names of a text; `None` if it cannot be split into tokens.
pub(crate) fn text_names(engine: Engine, text: &str) -> Option<Vec<String>> {
    let lexed = tokenize(engine, text).ok()?;
    Some(identifiers(engine, text, &lexed.tokens).into_iter().map(|it| it.name).collect())
}

/// Returns all names of a body of a function, also as a server with another encoding would write them in
/// lower case; `None` if it cannot be split into tokens.
pub(crate) fn body_names(text: &str) -> Option<Vec<String>> {
    let lexed = tokenize(Engine::Postgres, text).ok()?;
    let named = identifiers(Engine::Postgres, text, &lexed.tokens);
    let mut names: Vec<String> =
        named.into_iter().flat_map(|it| [it.name.to_lowercase(), it.name]).collect();
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// Returns the text with a parameter in place of each string, or `None` if there is none. Strings
/// of bits, and those after [`TYPE_KEYWORDS`], stay.
pub(crate) fn replace_strings(engine: Engine, text: &str) -> Option<String> {
    let lexed = tokenize(engine, text).ok()?;
    let tokens = &lexed.tokens;
    let mut number = tokens.iter().filter_map(parameter_number).max().unwrap_or(0);
    let (mut replaced, mut copied) = (String::new(), 0);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let first = at;
        at += 1;
        if token.kind != TokenKind::Literal || !is_untyped(text, tokens, first) {
            continue;
        }
        // Strings that follow each other are one.
        while tokens.get(at).is_some_and(|next| next.kind == TokenKind::Literal) {
            at += 1;
        }
        let end = tokens.get(at).map_or(text.len(), |next| next.offset);
        replaced.push_str(text.get(copied..token.offset)?);
        number += 1;
        replaced.push('$');
        replaced.push_str(&number.to_string());
        replaced.push(' ');
        copied = end;
    }
    replaced.push_str(text.get(copied..)?);
    (copied > 0).then_some(replaced)
}

/// Returns true for a string whose type the server finds by its place.
fn is_untyped(text: &str, tokens: &[Token], at: usize) -> bool {
    let has_bits = tokens
        .get(at)
        .and_then(|token| text.get(token.offset..))
        .is_some_and(|string| string.starts_with(['b', 'B', 'x', 'X']));
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    !has_bits && !before.is_some_and(|token| token.is_one_of(&TYPE_KEYWORDS))
}

fn parameter_number(token: &Token) -> Option<u32> {
    token.text.strip_prefix('$').filter(|_| token.kind == TokenKind::Number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_become_parameters() {
        for (text, replaced) in [
            ("SELECT 1", None),
            ("SELECT 'a', x FROM t", Some("SELECT $1 , x FROM t")),
            ("SELECT E'a', $1, $$b$$", Some("SELECT $2 , $1, $3 ")),
            ("SELECT 'a'\n'b' WHERE x='it''s'", Some("SELECT $1 WHERE x=$2 ")),
            ("SELECT B'01', interval '1 day'", None),
            ("SELECT \"a'b\", 'c'::strict", Some("SELECT \"a'b\", $1 ::strict")),
        ] {
            assert_eq!(replace_strings(Engine::Postgres, text).as_deref(), replaced, "{text}");
        }
    }
}
